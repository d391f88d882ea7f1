/**
 * Decodes a watch stream: JSON events, one per line, cut anywhere by the network. All events complete in one chunk make
 * one batch.
 */
import type { WatchEvent } from './client.ts';

const NEWLINE = 0x0a;

/** Yields batches in order. A last line without newline counts if it is whole JSON; a broken line throws. */
export async function* decodeWatchLines(
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<readonly WatchEvent<unknown>[]> {
  let pending: Buffer[] = [];
  for await (const chunk of body) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const lastNewline = bytes.lastIndexOf(NEWLINE);
    if (lastNewline < 0) {
      pending.push(Buffer.from(bytes));
      continue;
    }
    const text = Buffer.concat([...pending, bytes.subarray(0, lastNewline)]).toString('utf8');
    pending = lastNewline + 1 < bytes.length ? [Buffer.from(bytes.subarray(lastNewline + 1))] : [];
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
