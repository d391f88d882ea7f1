/** Joins two connections: what one sends the other gets, ends and breaks included. */
import type { Duplex } from '../../platform/streams.ts';

/** Returns at once; the connections live until both are over. */
export function joinStreams(client: Duplex, backend: Duplex): void {
  client.closed.then(() => backend.destroy(), undefined);
  backend.closed.then(() => client.destroy(), undefined);
  void copy(client, backend);
  void copy(backend, client);
}

async function copy(from: Duplex, to: Duplex): Promise<void> {
  try {
    for await (const chunk of from.incoming) await to.write(chunk);
    await to.end();
  } catch {
    from.destroy();
    to.destroy();
  }
}
