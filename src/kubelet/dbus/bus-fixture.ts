/** The other end of a message bus, for tests: every client is authenticated, and a function of the test answers calls. */
import type { Duplex } from '../../platform/streams.ts';
import { type DbusMessage, decodeMessage, encodeMessage, MESSAGE_TYPES } from './dbus-codec.ts';
import type { DbusValue } from './dbus-wire.ts';

/** Types and values of the reply. Throw `BusRefusal` for an error of the bus. */
export type BusAnswer = (message: DbusMessage) => readonly [signature: string, body: readonly DbusValue[]];

/** An error by its D-Bus name. */
export class BusRefusal extends Error {}

/** Accepts the authentication, then answers calls, until the stream ends. */
export async function serveBus(stream: Duplex, answer: BusAnswer): Promise<void> {
  let rest = Buffer.alloc(0);
  let begun = false;
  for await (const part of stream.incoming) {
    rest = Buffer.concat([rest, part]);
    if (!begun) {
      const text = rest.toString('latin1');
      if (text === '\0AUTH EXTERNAL 30\r\n') await stream.write('OK 1234\r\n');
      const at = text.indexOf('BEGIN\r\n');
      if (at < 0) continue;
      begun = true;
      rest = rest.subarray(at + 7);
    }
    for (let next = decodeMessage(rest); next !== undefined; next = decodeMessage(rest)) {
      rest = rest.subarray(next.bytes);
      await stream.write(replyTo(next.message, answer));
    }
  }
}

function replyTo(message: DbusMessage, answer: BusAnswer): Buffer {
  const head = { serial: message.serial, replySerial: message.serial };
  try {
    const [signature, body] = answer(message);
    return encodeMessage({ ...head, type: MESSAGE_TYPES.answer, signature, body });
  } catch (error) {
    if (!(error instanceof BusRefusal)) throw error;
    const body = ['refused by the test'];
    return encodeMessage({ ...head, type: MESSAGE_TYPES.error, errorName: error.message, signature: 's', body });
  }
}
