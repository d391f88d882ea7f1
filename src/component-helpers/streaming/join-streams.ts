/** Joins two connections: what one sends the other gets, ends and breaks included. */
import type { Duplex } from '../../platform/streams.ts';

/** Returns at once; the connections live until both are over. */
export function joinStreams(client: Duplex, backend: Duplex): void {
  const [endClient, endBackend] = [() => client.destroy(), () => backend.destroy()];
  client.closed.then(endBackend, endBackend);
  backend.closed.then(endClient, endClient);
  copy(client, backend).catch(endBackend);
  copy(backend, client).catch(endClient);
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
