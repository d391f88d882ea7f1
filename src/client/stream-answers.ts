/**
 * Reads responses that other servers give through the API server, for clients inside the process: up to a length and
 * in steps, since aggregated servers may answer anything.
 */
import { stepByStep } from '../base/steps.ts';
import { jsonSteps } from '../api/codec/json-steps.ts';
import { JsonSyntaxError } from '../api/codec/json-parser.ts';
import type { ApiResponse } from '../api/transport.ts';
import type { Clock } from '../platform/clock.ts';
import type { WatchEvent } from './client.ts';
import { createMemoryDuplexPair } from './memory-duplex.ts';
import { decodeWatchLines } from './watch-decoder.ts';

/** A response of another server, streamed through the API server. */
export type StreamResponse = Extract<ApiResponse, { kind: 'stream' }>;

/** The size limit: enough for a list of 10,000 objects. */
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_PARTS = 1_000_000;

/** The whole body. Rejects when it exceeds the limit. */
export async function bodyOfStream(response: StreamResponse): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  await response.run({
    async write(chunk) {
      const next = typeof chunk === 'string' ? Buffer.from(chunk, 'utf8') : chunk;
      bytes += next.byteLength;
      if (bytes > MAX_BYTES) throw new Error(`the answer exceeds ${MAX_BYTES} bytes`);
      chunks.push(next);
    },
    end: () => Promise.resolve(),
  });
  return Buffer.concat(chunks);
}

/** The JSON value of a body, or its text when it is no JSON. */
export async function valueOfStream(response: StreamResponse, clock: Clock): Promise<unknown> {
  const text = Buffer.from(await bodyOfStream(response)).toString('utf8');
  try {
    return await stepByStep(jsonSteps(text, { maxParts: MAX_PARTS }), () => clock.yield());
  } catch (error) {
    if (error instanceof JsonSyntaxError && response.status >= 400) return text;
    throw error;
  }
}

/** The events of a watch. Ending the iteration closes the connection. */
export async function* eventsOfStream(
  response: StreamResponse,
  clock: Clock,
): AsyncGenerator<readonly WatchEvent<unknown>[]> {
  const [ours, theirs] = createMemoryDuplexPair();
  response.run(theirs).then(
    () => theirs.end(),
    (error: Error) => theirs.destroy(error),
  );
  try {
    yield* decodeWatchLines(ours.incoming, clock);
  } finally {
    ours.destroy();
  }
}
