/** A TCP port for a server that a test starts. */
import { createServer } from 'node:net';

/** Ports that this process has returned: none is returned twice, although it is not in use yet. */
const given = new Set<number>();

/**
 * A port of `address` that was free a moment ago, below the range from which clients' ports are taken, so that no outgoing
 * connection sits on it when the server starts. Other test processes pick at random as well.
 */
export async function freePort(address = '0.0.0.0'): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const candidate = 12_000 + Math.floor(Math.random() * 18_000);
    if (given.has(candidate)) continue;
    given.add(candidate);
    const server = createServer();
    const free = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(candidate, address, () => server.close(() => resolve(true)));
    });
    if (free) return candidate;
  }
  throw new Error('no free port');
}
