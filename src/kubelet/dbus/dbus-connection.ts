/**
 * A connection to a D-Bus message bus: method calls and signals. It authenticates as this process's user (EXTERNAL),
 * which the kernel verifies. It ends when the signal aborts or the bus closes it; pending calls are then rejected.
 */
import type { Duplex } from '../../platform/streams.ts';
import { type DbusMessage, decodeMessage, encodeMessage, MESSAGE_TYPES } from './dbus-codec.ts';
import type { DbusValue } from './dbus-wire.ts';

export interface DbusCall {
  readonly destination: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  readonly signature?: string;
  readonly body?: readonly DbusValue[];
}

export interface DbusConnection {
  /** Resolves to the reply's values. Rejects with the bus's error, which has its name, or when the connection ends. */
  call(call: DbusCall): Promise<readonly DbusValue[]>;
  /** Resolves when the connection has ended. Never rejects. */
  readonly closed: Promise<void>;
  close(): void;
}

const BUS = { destination: 'org.freedesktop.DBus', path: '/org/freedesktop/DBus', interface: 'org.freedesktop.DBus' };

/** Subscribes to signals that match the rule. */
export async function addMatch({ call }: DbusConnection, rule: string): Promise<void> {
  await call({ ...BUS, member: 'AddMatch', signature: 's', body: [rule] });
}

/** Authenticates on an open stream and calls Hello. When the bus refuses, it rejects and the stream is destroyed. */
export async function connectDbus(
  stream: Duplex,
  { uid, onSignal }: { readonly uid: number; readonly onSignal: (signal: DbusMessage) => void },
): Promise<DbusConnection> {
  const waiting = new Map<number, { resolve(body: readonly DbusValue[]): void; reject(error: Error): void }>();
  const authenticated = Promise.withResolvers<void>();
  authenticated.promise.catch(() => undefined); // awaited below
  let serial = 0;
  let ended: Error | undefined;

  function take(message: DbusMessage): void {
    if (message.type === MESSAGE_TYPES.signal) return onSignal(message);
    const call = waiting.get(message.replySerial ?? 0);
    if (call === undefined) return;
    waiting.delete(message.replySerial ?? 0);
    if (message.type === MESSAGE_TYPES.answer) call.resolve(message.body);
    else call.reject(new Error(`${message.errorName ?? 'D-Bus error'}: ${String(message.body[0] ?? '')}`));
  }

  function end(error: Error): void {
    ended ??= error;
    authenticated.reject(error);
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
    stream.destroy();
  }

  async function read(): Promise<void> {
    let rest = Buffer.alloc(0);
    let isText = true;
    for await (const part of stream.incoming) {
      rest = Buffer.concat([rest, part]);
      if (isText) {
        const line = rest.indexOf('\r\n');
        if (line < 0) continue;
        const reply = rest.toString('latin1', 0, line);
        if (!reply.startsWith('OK ')) throw new Error(`the message bus refuses: ${reply}`);
        rest = rest.subarray(line + 2);
        isText = false;
        authenticated.resolve();
      }
      for (let next = decodeMessage(rest); next !== undefined; next = decodeMessage(rest)) {
        rest = rest.subarray(next.bytes);
        take(next.message);
      }
    }
    throw new Error('the message bus closed the connection');
  }

  const call: DbusConnection['call'] = async ({ body = [], ...to }) => {
    if (ended !== undefined) throw ended;
    const answer = Promise.withResolvers<readonly DbusValue[]>();
    answer.promise.catch(() => undefined); // the write below may fail first
    const own = ++serial;
    waiting.set(own, answer);
    await stream.write(encodeMessage({ ...to, type: MESSAGE_TYPES.call, serial: own, body }));
    return await answer.promise;
  };

  const closed = read().catch(end);
  try {
    await stream.write(`\0AUTH EXTERNAL ${Buffer.from(String(uid)).toString('hex')}\r\n`);
    await authenticated.promise;
    await stream.write('BEGIN\r\n');
    await call({ ...BUS, member: 'Hello' });
  } catch (error) {
    end(error as Error); // a bus that refuses does not close its end
    throw error;
  }
  return { call, closed, close: () => end(new Error('the connection to the message bus was closed')) };
}
