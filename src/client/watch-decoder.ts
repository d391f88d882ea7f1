/**
 * Decodes a watch stream: JSON events, one per line, cut anywhere by the network. All events complete in one chunk make
 * one batch.
 */
import type { WatchEvent } from './client.ts';

const NEWLINE = 0x0a;

/** Of an event: objects are 3 MiB at most. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;

/** Yields batches in order. A last line without newline counts if it is whole JSON; a broken line throws. */
export async function* decodeWatchLines(
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<readonly WatchEvent<unknown>[]> {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  for await (const chunk of body) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const lastNewline = bytes.lastIndexOf(NEWLINE);
    if (lastNewline < 0) {
      pending.push(Buffer.from(bytes));
      pendingBytes += bytes.length;
      if (pendingBytes > MAX_LINE_BYTES) throw new Error(`an event of a watch exceeds ${MAX_LINE_BYTES} bytes`);
      continue;
    }
    const text = Buffer.concat([...pending, bytes.subarray(0, lastNewline)]).toString('utf8');
    pending = lastNewline + 1 < bytes.length ? [Buffer.from(bytes.subarray(lastNewline + 1))] : [];
    pendingBytes = bytes.length - (lastNewline + 1);
    const batch = decodeLines(text);
    if (batch.length > 0) yield batch;
  }
  const rest = Buffer.concat(pending).toString('utf8').trim();
  if (rest !== '') yield decodeLines(rest);
}

function decodeLines(text: string): WatchEvent<unknown>[] {
  const events: WatchEvent<unknown>[] = [];
  for (const line of text.split('\n')) {
    if (line.trim() !== '') events.push(JSON.parse(line) as WatchEvent<unknown>);
  }
  return events;
}
