/**
 * Decodes a watch stream: JSON events, one per line, split anywhere by the network. All events completed by one chunk
 * form one batch. Long lines are parsed in steps, between which other tasks get a turn: aggregated servers may send
 * anything.
 */
import { jsonSteps } from '../api/codec/json-steps.ts';
import { asRead } from '../api/codec/written-form.ts';
import { stepByStep } from '../base/steps.ts';
import type { Clock } from '../platform/clock.ts';
import type { WatchEvent } from './client.ts';

const NEWLINE = 0x0a;

/** The longest line of an event: objects are 3 MiB at most. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;

/** The most bytes of an event that are parsed in one turn. */
const TURN_LENGTH = 32 * 1024;

/** The most parts of a long event. An object may have 100,000 besides its managed fields, which may have as many. */
const MAX_PARTS = 250_000;

/** Yields batches in order. A last line without newline counts if it is whole JSON; a broken line throws. */
export async function* decodeWatchLines(
  body: AsyncIterable<Uint8Array>,
  clock: Pick<Clock, 'yield'>,
): AsyncGenerator<readonly WatchEvent<unknown>[]> {
  const pending = new GrowingBytes();
  for await (const chunk of body) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const end = bytes.lastIndexOf(NEWLINE) + 1;
    if (end > 0) {
      pending.add(bytes.subarray(0, end));
      const batch = await decodeLines(pending.take(), clock);
      if (batch.length > 0) yield batch;
    }
    pending.add(bytes.subarray(end));
    if (pending.length > MAX_LINE_BYTES) throw new Error(`an event of a watch exceeds ${MAX_LINE_BYTES} bytes`);
  }
  const rest = await decodeLines(pending.take(), clock);
  if (rest.length > 0) yield rest;
}

async function decodeLines(text: string, clock: Pick<Clock, 'yield'>): Promise<WatchEvent<unknown>[]> {
  const events: WatchEvent<unknown>[] = [];
  let inTurn = 0;
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue;
    inTurn += line.length;
    if (inTurn > TURN_LENGTH && inTurn > line.length) {
      await clock.yield();
      inTurn = line.length;
    }
    const event = (await eventOf(line, clock)) as WatchEvent<unknown>;
    events.push(line.includes(':null') ? { ...event, object: asRead(event.object) } : event);
  }
  return events;
}

function eventOf(line: string, clock: Pick<Clock, 'yield'>): unknown {
  if (line.length <= TURN_LENGTH) return JSON.parse(line);
  return stepByStep(jsonSteps(line, { maxParts: MAX_PARTS }), () => clock.yield());
}

/** The bytes of an incomplete line. Copied: each of a million tiny chunks would keep a buffer of its own. */
class GrowingBytes {
  #bytes = Buffer.alloc(0);
  length = 0;

  add(more: Uint8Array): void {
    const length = this.length + more.length;
    if (length > this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(length, 2 * this.#bytes.length));
      larger.set(this.#bytes.subarray(0, this.length));
      this.#bytes = larger;
    }
    this.#bytes.set(more, this.length);
    this.length = length;
  }

  /** Returns all bytes as text and empties the buffer. */
  take(): string {
    const text = this.#bytes.toString('utf8', 0, this.length);
    this.#bytes = Buffer.alloc(0);
    this.length = 0;
    return text;
  }
}
