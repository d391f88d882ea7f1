// Crowds: many requests of one tenant, or of an anonymous client, at the same instant. Each alone is within every limit.
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { sleep } from '../run/wait.ts';

/** The attacker; anonymous without a token. */
export interface Crowd {
  readonly server: URL;
  readonly ca: string | Buffer;
  readonly token?: string;
}

/** Resolves to the number of responses by status. */
export type Attack = (crowd: Crowd) => Promise<Readonly<Record<string, number>>>;

function tally(statuses: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

const bearer = ({ token }: Crowd): Record<string, string> =>
  token === undefined ? {} : { authorization: `Bearer ${token}` };

async function sessions({ server, ca }: Crowd, count: number): Promise<ClientHttp2Session[]> {
  return Promise.all(
    Array.from({ length: count }, async () => {
      const session = connectHttp2(server.origin, { ca });
      session.on('error', () => undefined);
      await new Promise((resolve) => session.once('remoteSettings', resolve));
      return session;
    }),
  );
}

/** GETs over HTTP/2, all at once. */
export const gets =
  (connections: number, count: number, pathOf: (at: number) => string, headers: Record<string, string> = {}): Attack =>
  async (crowd) => {
    const opened = await sessions(crowd, connections);
    const ask = (at: number): Promise<string> =>
      new Promise((resolve) => {
        const stream = opened[at % connections]!.request({ ':path': pathOf(at), ...bearer(crowd), ...headers });
        stream.on('response', (head) => {
          stream.resume().on('end', () => resolve(String(head[':status'])));
        });
        stream.on('error', () => resolve('cut'));
        stream.on('close', () => resolve('cut'));
      });
    const statuses = await Promise.all(Array.from({ length: count }, (_, at) => ask(at)));
    for (const session of opened) session.destroy();
    return tally(statuses);
  };

/** POSTs of one body on separate connections: all but the last byte, then the last bytes at once. */
export const posts =
  (count: number, path: string, body: Buffer): Attack =>
  async (crowd) => {
    const { hostname: host, port } = crowd.server;
    const lines = [
      `POST ${path} HTTP/1.1`,
      `host: ${crowd.server.host}`,
      'content-type: application/json',
      `content-length: ${body.length}`,
      'connection: close',
      ...Object.entries(bearer(crowd)).map((header) => header.join(': ')),
    ];
    const head = `${lines.join('\r\n')}\r\n\r\n`;
    const opened = await Promise.all(
      Array.from({ length: count }, async () => {
        const socket = connectTls({ host, port: Number(port), ca: crowd.ca });
        const status = new Promise<string>((resolve) => {
          socket.once('data', (chunk: Buffer) => resolve(chunk.toString('latin1').slice(9, 12)));
          socket.once('error', () => resolve('cut')).once('close', () => resolve('cut'));
        });
        await new Promise((resolve) => socket.once('secureConnect', resolve));
        socket.write(head);
        await new Promise((resolve) => socket.write(body.subarray(0, -1), resolve));
        return { socket, status };
      }),
    );
    await sleep(1000);
    for (const { socket } of opened) socket.write(body.subarray(-1));
    const statuses = await Promise.all(opened.map(({ status }) => status));
    for (const { socket } of opened) socket.destroy();
    return tally(statuses);
  };

/** First messages of TLS, all at once, without a continuation. */
export const hellos =
  (count: number): Attack =>
  async ({ server }) => {
    const hello = await recordedHello();
    const open = (): Promise<Socket> =>
      new Promise((resolve, reject) => {
        const socket = connectTcp(Number(server.port), server.hostname, () => resolve(socket));
        socket.once('error', reject);
      });
    const sockets: Socket[] = [];
    while (sockets.length < count) sockets.push(...(await Promise.all(Array.from({ length: 100 }, open))));
    await sleep(500);
    const answered = sockets.map(
      (socket) =>
        new Promise<string>((resolve) => {
          socket.on('error', () => undefined).once('data', () => resolve('answered'));
          socket.once('close', () => resolve('cut'));
        }),
    );
    for (const socket of sockets) socket.write(hello);
    const statuses = await Promise.all(answered);
    for (const socket of sockets) socket.destroy();
    return tally(statuses);
  };

/** Pipelines of HTTP/1.1, all at once. Counts connections with a response, and those closed without one. */
export const pipelines =
  (connections: number, requests: number): Attack =>
  async ({ server, ca }) => {
    const { hostname: host, port } = server;
    const open = (): Promise<Socket> =>
      new Promise((resolve, reject) => {
        const socket = connectTls({ host, port: Number(port), ca }, () => resolve(socket));
        socket.once('error', reject);
      });
    const sockets: Socket[] = [];
    while (sockets.length < connections) sockets.push(...(await Promise.all(Array.from({ length: 20 }, open))));
    const text = Buffer.from(`GET / HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(requests));
    const ended = sockets.map(
      (socket) =>
        new Promise<string>((resolve) => {
          socket.on('error', () => undefined).on('data', () => resolve('answered'));
          socket.once('close', () => resolve('cut'));
          socket.write(text);
        }),
    );
    const statuses = await Promise.all(ended);
    for (const socket of sockets) socket.destroy();
    return tally(statuses);
  };

/** The first message of a Node.js client. */
async function recordedHello(): Promise<Buffer> {
  const { createServer } = await import('node:net');
  return new Promise((resolve) => {
    const server = createServer((socket) => {
      socket.once('data', (chunk) => {
        resolve(chunk);
        socket.destroy();
        server.close();
      });
    }).listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      connectTls({ host: '127.0.0.1', port }).on('error', () => undefined);
    });
  });
}
