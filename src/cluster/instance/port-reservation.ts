/**
 * A port is chosen before it is served. In between nobody else, above all no other instance that starts at the same
 * moment, may take it: it is held open, refusing whoever comes, until the server takes its place.
 */
import { createServer } from 'node:net';

/** A held port. */
export interface PortReservation {
  readonly port: number;
  /** Resolves when the port is free for its server. */
  release(): Promise<void>;
}

/** Holds the port on all addresses; undefined when somebody has it. */
export function reservePort(port: number): Promise<PortReservation | undefined> {
  const server = createServer((socket) => socket.destroy());
  server.unref();
  const release = (): Promise<void> => new Promise((resolve) => server.close(() => resolve()));
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error),
    );
    server.listen({ port, host: '0.0.0.0' }, () => resolve({ port, release }));
  });
}
