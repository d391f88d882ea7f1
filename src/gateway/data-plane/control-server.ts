/**
 * The control socket of a data plane: a unix socket in a folder that only its user may enter. Reports go to the newest
 * connection. Without a connection the data plane serves its last snapshot.
 */
import { createServer, type Server, type Socket } from 'node:net';
import { StringDecoder } from 'node:string_decoder';
import type { Log } from '../../platform/log.ts';
import type { DataPlaneReport } from '../snapshot/snapshot.ts';
import { createLineReader, type SnapshotMessage } from './control-messages.ts';

export interface ControlServer {
  listen(path: string): Promise<void>;
  report(report: DataPlaneReport): void;
  close(): Promise<void>;
}

export function createControlServer(log: Log, apply: (message: SnapshotMessage) => Promise<void>): ControlServer {
  const sockets = new Set<Socket>();
  let current: Socket | undefined;
  let last: DataPlaneReport | undefined;
  let applying: Promise<void> = Promise.resolve();
  const send = (report: DataPlaneReport): void => {
    current?.write(`${JSON.stringify(report)}\n`);
  };
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    current = socket;
    socket.on('error', () => socket.destroy());
    socket.once('close', () => {
      sockets.delete(socket);
      if (current === socket) current = undefined;
    });
    if (last !== undefined) send(last);
    const decoder = new StringDecoder('utf8');
    const read = createLineReader((line) => {
      const message = JSON.parse(line) as SnapshotMessage;
      applying = applying
        .then(() => apply(message))
        .catch((error: unknown) => log.unexpected('a snapshot could not be applied', error));
    });
    socket.on('data', (chunk: Buffer) => {
      try {
        read(decoder.write(chunk));
      } catch (error) {
        log.unexpected('a message over the control socket could not be read', error);
        socket.destroy();
      }
    });
  });
  return {
    listen: (path) =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen({ path }, () => {
          server.off('error', reject);
          server.on('error', (error) => log.unexpected('the control socket failed', error));
          resolve();
        });
      }),
    report(report) {
      last = report;
      send(report);
    },
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}
