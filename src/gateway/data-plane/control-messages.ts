/** The messages of a data plane's control socket, one line of JSON each: snapshots to the data plane, reports from it. */
import type { DataPlaneReport } from '../snapshot/snapshot.ts';
import type { SnapshotTables } from '../snapshot/snapshot-message.ts';

export interface SnapshotMessage {
  readonly generation: number;
  readonly snapshot: SnapshotTables;
}

export type ReportMessage = DataPlaneReport;

/** Snapshots are far smaller: `snapshot-budget.ts` limits them. */
const MAX_MESSAGE_BYTES = 256 * 1024 * 1024;

/** Cuts a stream of text into lines. */
export function createLineReader(
  onLine: (line: string) => void,
  maxBytes = MAX_MESSAGE_BYTES,
): (chunk: string) => void {
  let parts: string[] = [];
  let length = 0;
  return (chunk) => {
    let rest = chunk;
    for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n')) {
      const line = parts.join('') + rest.slice(0, end);
      [parts, length] = [[], 0];
      rest = rest.slice(end + 1);
      onLine(line);
    }
    if (rest === '') return;
    parts.push(rest);
    length += rest.length;
    if (length > maxBytes) throw new Error('a message over the control socket is too long');
  };
}
