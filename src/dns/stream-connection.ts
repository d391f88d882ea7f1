/** One TCP connection of a DNS client: length-prefixed messages, several per connection, answered in order. */
import { FrameInput } from '../base/frame-input.ts';
import type { Clock } from '../platform/clock.ts';
import type { Duplex } from '../platform/streams.ts';
import { isProgramError } from '../platform/unexpected.ts';

export interface StreamConnection {
  readonly clock: Clock;
  readonly connection: Duplex;
  /** The client's address: all its connections together get one share of the turns. */
  readonly client: string;
  answer(message: Buffer): Buffer | Promise<Buffer> | undefined;
}

/** Idle time after which a connection is closed. */
const IDLE_MS = 10_000;
/** Far more than a question with options needs. */
const MAX_QUERY = 4096;
/** The size of a header. Shorter messages are not answered. */
const MIN_QUERY = 12;

/** Serves until the client ends, is idle or breaks the protocol. Rejects only with errors of this program. */
export async function serveStream(stream: StreamConnection): Promise<void> {
  const { clock, connection } = stream;
  let cancelIdle = (): void => undefined;
  const armIdle = (): void => {
    cancelIdle();
    cancelIdle = clock.setTimer(IDLE_MS, () => connection.destroy());
  };
  armIdle();
  try {
    if (await answerAll(stream, armIdle)) await connection.end();
    else connection.destroy();
  } catch (error) {
    connection.destroy(); // the client is gone
    if (isProgramError(error)) throw error;
  } finally {
    cancelIdle();
  }
}

/** True: the client has ended; false: it broke the protocol. `onMessage` is called at each message. */
async function answerAll(
  { clock, connection, client, answer }: StreamConnection,
  onMessage: () => void,
): Promise<boolean> {
  const input = new FrameInput(connection.incoming, {
    turn: () => clock.turn(client),
    yield: () => clock.yield(client),
  });
  for (;;) {
    const length = (await input.head(2))?.readUInt16BE(0);
    if (length === undefined) return true;
    if (length < MIN_QUERY || length > MAX_QUERY) return false;
    const message = await input.head(length);
    if (message === undefined) return true;
    onMessage();
    const response = await answer(message);
    if (response !== undefined) await connection.write(frame(response));
  }
}

/** The first complete message. */
export function takeFrame(bytes: Buffer): Buffer | undefined {
  if (bytes.length < 2) return undefined;
  const length = bytes.readUInt16BE(0);
  return bytes.length < 2 + length ? undefined : bytes.subarray(2, 2 + length);
}

/** A message with its length prefix. */
export function frame(message: Uint8Array): Buffer {
  const framed = Buffer.allocUnsafe(2 + message.length);
  framed.writeUInt16BE(message.length, 0);
  framed.set(message, 2);
  return framed;
}
