/**
 * Holds a port between its choice and its server's start, so that no other process, such as another starting
 * instance, takes it. Connections are refused until the server replaces it.
 */
import { createServer } from 'node:net';

/** A held port. */
export interface PortReservation {
  readonly port: number;
  /** Resolves when the port is free for its server. */
  release(): Promise<void>;
}

/** Holds the port on all addresses; undefined when another process uses it. */
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
