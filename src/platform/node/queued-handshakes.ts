/**
 * Starts TLS handshakes one by one: each takes the main thread a few tenths of a millisecond, and thousands of
 * clients may connect at once. A connection is held until its first bytes have arrived and the loop has time; TLS
 * gets what was read.
 */
import type { Server } from 'node:https';
import type { Socket } from 'node:net';
import { plainAddress } from './http1.ts';
import { loopTurns } from './loop-turns.ts';
import { readThrottle } from './read-throttle.ts';

/** Connections without a first byte end after the time limit. The server must have `pauseOnConnect`. */
export function queueHandshakes(server: Server, limitMs: number): void {
  const begin = server.listeners('connection') as ((socket: Socket) => void)[];
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    if (socket.destroyed) return;
    const timer = setTimeout(() => socket.destroy(), limitMs).unref();
    socket.once('close', () => clearTimeout(timer));
    socket.on('error', () => undefined); // shows in `close`
    const flow = plainAddress(socket.remoteAddress);
    readThrottle.add(socket, flow);
    socket.once('readable', () => {
      const start = (): void => {
        clearTimeout(timer);
        readThrottle.remove(socket);
        if (socket.destroyed) return;
        if (socket.readableLength === 0) socket.destroy();
        else for (const listener of begin) listener.call(server, socket);
      };
      const due = loopTurns.turn(flow);
      if (due === undefined) return start();
      readThrottle.reportWaiting();
      due.then(start).catch((error: unknown) => socket.destroy(error as Error));
    });
  });
}
