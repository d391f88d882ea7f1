/** Joins two connections and copies bytes in both directions. */
import type { Duplex } from 'node:stream';
import type { Clock } from '../../platform/clock.ts';

/** The interval of TCP keep-alive, which detects vanished peers. */
const KEEP_ALIVE_MS = 60_000;
/** The time for which one side may still send after the other has closed. */
const LAST_BYTES_MS = 10_000;

type Joinable = Duplex & { setKeepAlive(isOn: boolean, afterMs: number): unknown };

/** The end of one side is passed on after all bytes before it; an error of one side ends the other. */
export function joinConnections(client: Joinable, backend: Joinable, clock: Clock): void {
  for (const one of [client, backend]) one.setKeepAlive(true, KEEP_ALIVE_MS);
  client.pipe(backend);
  backend.pipe(client);
  for (const [one, other] of [
    [client, backend],
    [backend, client],
  ] as const) {
    one.on('error', () => other.destroy());
    one.once('close', () => {
      if (other.writableEnded && !other.writableFinished) destroyOnceSent(other, clock, LAST_BYTES_MS);
      else other.destroy();
    });
  }
}

/** For a connection whose writable side has ended: destroys it once everything is sent, after `limitMs` at the latest. */
export function destroyOnceSent(socket: Duplex, clock: Clock, limitMs: number): void {
  const cancel = clock.setTimer(limitMs, () => socket.destroy());
  socket.once('finish', () => socket.destroy());
  socket.once('close', cancel);
}
