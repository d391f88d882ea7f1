/** Joins two connections, whatever is sent over them. */
import type { Duplex } from 'node:stream';

/** Each side's end is passed on once all before it is sent; an error of one ends the other. */
export function joinConnections(client: Duplex, backend: Duplex): void {
  client.pipe(backend);
  backend.pipe(client);
  for (const [one, other] of [
    [client, backend],
    [backend, client],
  ] as const) {
    one.on('error', () => other.destroy());
    one.once('close', () => {
      if (other.writableEnded && !other.writableFinished) other.once('finish', () => other.destroy());
      else other.destroy();
    });
  }
}
