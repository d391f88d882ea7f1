// A plugin of one exchange: a socket that is created, called, and removed.
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Answer, type Bytes, bytesOf, type PluginExchange, SOCKET_NAME, textOf } from '../exchange.ts';
import { GrpcClient } from './grpc.ts';
import { servePeer } from './peer-server.ts';

export interface PluginDirectories {
  /** The folder in which the kubelet finds sockets. */
  readonly registry: string;
  /** The folder of `kubelet.sock`, and of sockets that register by a call to it. */
  readonly devices: string;
}

/** The time limit of the target's first call, and of each further call. */
const FIRST_MS = 2000;
const NEXT_MS = 15;

let count = 0;

export async function sendPlugin(directories: PluginDirectories, exchange: PluginExchange): Promise<Answer> {
  const startedMs = performance.now();
  const name = `plugin-${String(++count).padStart(8, '0')}.sock`;
  const { registration, answers } = exchange;
  let called = Promise.withResolvers<void>();
  const server = await servePeer(
    join(registration === undefined ? directories.registry : directories.devices, name),
    (path) => {
      called.resolve();
      called = Promise.withResolvers();
      return Object.hasOwn(answers, path) ? answers[path] : undefined;
    },
  );
  let last = called;
  try {
    if (registration === undefined) await Promise.race([called.promise, pause(FIRST_MS)]);
    else await register(join(directories.devices, 'kubelet.sock'), named(registration, name));
    while (last !== called) {
      last = called;
      await Promise.race([called.promise, pause(NEXT_MS)]);
    }
  } finally {
    server.close();
  }
  return { outcome: 'cut', durationMs: performance.now() - startedMs };
}

const named = (message: Bytes, name: string): Bytes => bytesOf(message).toString('latin1').replace(SOCKET_NAME, name);

async function register(socketPath: string, message: Bytes): Promise<void> {
  const client = new GrpcClient({ socketPath });
  const bytes = bytesOf(message);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(bytes.length, 1);
  const parts = [textOf(Buffer.concat([head, bytes]))];
  const headers = [['content-type', 'application/grpc']] as const;
  await client.send({ kind: 'grpc', to: '', path: '/v1beta1.Registration/Register', headers, parts });
  client.close();
}
