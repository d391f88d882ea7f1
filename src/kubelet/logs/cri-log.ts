/**
 * The CRI log format: `2016-10-06T00:17:09.669794202Z stdout F content`, one line per write of the container; the tag
 * `P` marks a part of a longer line. Upstream: cri-client/pkg/logs.
 */

export interface LogEntry {
  /** As in the log: RFC 3339 with nanoseconds. */
  readonly timestamp: string;
  readonly stream: 'stdout' | 'stderr';
  /** The line continues in the next entry of its stream. */
  readonly partial: boolean;
  readonly content: Uint8Array;
}

const SPACE = 0x20;

/** Parses a line without its newline; undefined when it is not in the format. */
export function parseLogLine(line: Uint8Array): LogEntry | undefined {
  const first = line.indexOf(SPACE);
  const second = first < 0 ? -1 : line.indexOf(SPACE, first + 1);
  if (second < 0) return undefined;
  // The runtime omits the space before empty content.
  const third = line.indexOf(SPACE, second + 1);
  const tagEnd = third < 0 ? line.length : third;
  const text = (from: number, to: number): string =>
    Buffer.from(line.buffer, line.byteOffset + from, to - from).toString('latin1');
  const stream = text(first + 1, second);
  if (stream !== 'stdout' && stream !== 'stderr') return undefined;
  const tags = text(second + 1, tagEnd).split(':');
  return {
    timestamp: text(0, first),
    stream,
    partial: tags[0] === 'P',
    content: line.subarray(third < 0 ? line.length : third + 1),
  };
}

/** An entry as the runtime writes it, newline included. */
export function formatLogEntry(entry: Omit<LogEntry, 'content'> & { readonly content: string }): string {
  return `${entry.timestamp} ${entry.stream} ${entry.partial ? 'P' : 'F'} ${entry.content}\n`;
}
