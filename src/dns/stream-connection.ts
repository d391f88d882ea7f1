/** One TCP connection of a DNS client: messages with their length in front, several per connection, answered in order. */
import type { Clock } from '../platform/clock.ts';
import type { Duplex } from '../platform/streams.ts';
import { isProgramError } from '../platform/unexpected.ts';

export interface StreamConnection {
  readonly clock: Clock;
  readonly connection: Duplex;
  answer(message: Buffer): Buffer | Promise<Buffer> | undefined;
}

/** Idle time after which a connection is closed. */
const IDLE_MS = 10_000;
/** One question with its options is far smaller. */
const MAX_QUERY = 4096;

/** Serves until the client ends, is idle or breaks the protocol. Rejects with faults of the program alone. */
export async function serveStream({ clock, connection, answer }: StreamConnection): Promise<void> {
  let cancelIdle = (): void => undefined;
  const armIdle = (): void => {
    cancelIdle();
    cancelIdle = clock.setTimer(IDLE_MS, () => connection.destroy());
  };
  armIdle();
  let waiting = Buffer.alloc(0);
  try {
    for await (const chunk of connection.incoming) {
      waiting = waiting.length === 0 ? Buffer.from(chunk) : Buffer.concat([waiting, chunk]);
      if (tooLong(waiting)) return connection.destroy();
      for (let message = takeFrame(waiting); message !== undefined; message = takeFrame(waiting)) {
        waiting = waiting.subarray(2 + message.length);
        if (tooLong(waiting)) return connection.destroy();
        armIdle();
        const response = await answer(message);
        if (response !== undefined) await connection.write(frame(response));
      }
    }
    await connection.end();
  } catch (error) {
    connection.destroy(); // The client is gone: nobody is left to answer.
    if (isProgramError(error)) throw error;
  } finally {
    cancelIdle();
  }
}

const tooLong = (bytes: Buffer): boolean => bytes.length >= 2 && bytes.readUInt16BE(0) > MAX_QUERY;

/** The first whole message. */
export function takeFrame(bytes: Buffer): Buffer | undefined {
  if (bytes.length < 2) return undefined;
  const length = bytes.readUInt16BE(0);
  return bytes.length < 2 + length ? undefined : bytes.subarray(2, 2 + length);
}

/** A message with its length in front. */
export function frame(message: Uint8Array): Buffer {
  const framed = Buffer.allocUnsafe(2 + message.length);
  framed.writeUInt16BE(message.length, 0);
  framed.set(message, 2);
  return framed;
}
