// Bytes on a separate connection. Only statuses are parsed from the response.
import { setTimeout as pause } from 'node:timers/promises';
import { type Answer, bytesOf, type RawExchange } from '../exchange.ts';
import { type Access, open } from './access.ts';

/** The time for which a response is awaited between parts, and after the last one. */
const BETWEEN_MS = 15;

export async function sendRaw(access: Access, exchange: RawExchange): Promise<Answer> {
  const startedMs = performance.now();
  const { socket, opened } = open(access, exchange.protocol);
  const chunks: Buffer[] = [];
  let isClosed = false;
  let heard = Promise.withResolvers<void>();
  const hear = (): void => {
    heard.resolve();
    heard = Promise.withResolvers();
  };
  socket.on('error', () => undefined); // `close` follows
  socket.on('close', () => {
    isClosed = true;
    hear();
  });
  socket.on('data', (chunk: Buffer) => {
    if (chunks.length < 1000) chunks.push(chunk);
    hear();
  });
  const connected = Promise.withResolvers<void>();
  socket.once(opened, connected.resolve).once('close', connected.resolve);
  await connected.promise;
  for (const part of exchange.parts) {
    if (isClosed) break;
    socket.write(bytesOf(part));
    await Promise.race([heard.promise, pause(BETWEEN_MS)]);
  }
  if (!isClosed) await Promise.race([heard.promise, pause(BETWEEN_MS)]);
  socket.destroy();
  const said = Buffer.concat(chunks).toString('latin1');
  const statuses =
    exchange.protocol === 'h2' ? [] : [...said.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status));
  const status = statuses.length > 0 ? Math.max(...statuses) : undefined;
  const durationMs = performance.now() - startedMs;
  return {
    outcome: isClosed ? 'closed' : 'cut',
    ...(status && { status, body: Buffer.from(said, 'latin1') }),
    durationMs,
  };
}
