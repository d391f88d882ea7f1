/** Joins two connections, whatever is sent over them. */
import type { Duplex } from 'node:stream';
import type { Clock } from '../../platform/clock.ts';

/** Peers that are gone without a word are found so. */
const KEEP_ALIVE_MS = 60_000;
/** Once one side has closed, the other may take so long for what is still to be sent. */
const LAST_BYTES_MS = 10_000;

type Joinable = Duplex & { setKeepAlive(isOn: boolean, afterMs: number): unknown };

/** Each side's end is passed on once all before it is sent; an error of one ends the other. */
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

/** For a connection whose writable side has been ended; a peer that takes nothing does not hold it beyond `limitMs`. */
export function destroyOnceSent(socket: Duplex, clock: Clock, limitMs: number): void {
  const cancel = clock.setTimer(limitMs, () => socket.destroy());
  socket.once('finish', () => socket.destroy());
  socket.once('close', cancel);
}
