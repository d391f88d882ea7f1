// gRPC calls over Node's HTTP/2 client, with any content of DATA frames.
import { connect, constants, type ClientHttp2Session } from 'node:http2';
import { setTimeout as pause } from 'node:timers/promises';
import { type Answer, bytesOf, type GrpcExchange } from '../exchange.ts';
import { type Access, LATE_MS, open } from './access.ts';

export class GrpcClient {
  readonly #access: Access;
  #session: ClientHttp2Session | undefined;
  #used = 0;

  constructor(access: Access) {
    this.#access = access;
  }

  /** The trailers are the response's headers; without trailers it is `closed`. */
  async send(exchange: GrpcExchange): Promise<Answer> {
    const startedMs = performance.now();
    const { promise, resolve } = Promise.withResolvers<Omit<Answer, 'durationMs'>>();
    const stream = this.#connection().request({
      ...Object.fromEntries(exchange.headers),
      ':method': 'POST',
      ':path': exchange.path,
    });
    let head: Record<string, string> | undefined;
    const body: Buffer[] = [];
    const keep = (headers: object): void => void (head = { ...head, ...(headers as Record<string, string>) });
    stream
      .on('response', keep)
      .on('trailers', keep)
      .on('data', (chunk: Buffer) => body.push(chunk))
      .on('error', () => undefined) // `close` follows
      .on('close', () => {
        const isWhole = head?.['grpc-status'] !== undefined;
        resolve({
          outcome: isWhole ? 'answered' : 'closed',
          ...(head && { headers: head }),
          body: Buffer.concat(body),
        });
      });
    const timer = setTimeout(() => {
      resolve({ outcome: 'late' });
      stream.close(constants.NGHTTP2_CANCEL);
    }, LATE_MS);
    for (const part of exchange.parts) {
      if (stream.destroyed) break;
      stream.write(bytesOf(part));
      if (exchange.parts.length > 1) await pause(1);
    }
    stream.end();
    const answer = await promise;
    clearTimeout(timer);
    return { ...answer, durationMs: performance.now() - startedMs };
  }

  close(): void {
    this.#session?.destroy();
    this.#session = undefined;
  }

  #connection(): ClientHttp2Session {
    const session = this.#session;
    if (session !== undefined && !session.closed && !session.destroyed && this.#used++ < 300) return session;
    session?.close();
    const next = connect('http://a', {
      createConnection: () => open(this.#access, 'h2').socket,
      maxSessionMemory: 1000, // its own large bodies count
    });
    next.on('error', () => undefined); // its streams end with it
    this.#session = next;
    this.#used = 0;
    return next;
  }
}
