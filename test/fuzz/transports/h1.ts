// Requests over one HTTP/1.1 connection, written without a library, which would refuse invalid ones.
import type { Socket } from 'node:net';
import { type Answer, bytesOf, type HttpExchange } from '../exchange.ts';
import { type Access, isOpenEnded, LATE_MS, open, OPEN_MS } from './access.ts';
import { type Response, ResponseReader } from './response-reader.ts';

/** Thrown when a connection ended before the response was complete. */
class Ended extends Error {}

export class H1Client {
  readonly #access: Access;
  #socket: Socket | undefined;

  constructor(access: Access) {
    this.#access = access;
  }

  async send(exchange: HttpExchange): Promise<Answer> {
    const startedMs = performance.now();
    const since = (): number => performance.now() - startedMs;
    const reader = new ResponseReader(exchange.method);
    try {
      const response = await this.#exchange(exchange, reader);
      if (response.headers['connection'] === 'close' || response.status === 101) this.close();
      return { outcome: 'answered', ...response, durationMs: since() };
    } catch (error) {
      this.close();
      if (error instanceof Ended)
        return { outcome: error.message as Answer['outcome'], ...reader.head, durationMs: since() };
      throw error;
    }
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  #connection(): Socket {
    if (this.#socket !== undefined && !this.#socket.destroyed && this.#socket.writable) return this.#socket;
    this.#socket = open(this.#access, 'http/1.1').socket;
    return this.#socket;
  }

  #exchange(exchange: HttpExchange, reader: ResponseReader): Promise<Response> {
    const socket = this.#connection();
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const end = (outcome: Answer['outcome']) => () => reject(new Ended(outcome));
    const isOpen = isOpenEnded(exchange);
    const timer = setTimeout(end(isOpen ? 'cut' : 'late'), isOpen ? OPEN_MS : LATE_MS);
    socket.removeAllListeners('data').removeAllListeners('error').removeAllListeners('close');
    socket.on('error', end('closed'));
    socket.on('close', end('closed'));
    socket.on('data', (chunk: Buffer) => {
      try {
        const response = reader.push(chunk);
        if (response !== undefined) resolve(response);
      } catch (error) {
        reject(error as Error);
      }
    });
    socket.write(requestBytes(exchange, 'headers' in this.#access ? this.#access.headers : []));
    return promise.finally(() => clearTimeout(timer));
  }
}

function requestBytes(exchange: HttpExchange, own: HttpExchange['headers'] = []): Buffer {
  const body = exchange.body === undefined ? undefined : bytesOf(exchange.body);
  const lines = [...own, ...exchange.headers]
    .map(([name, value]) => `${name}: ${bytesOf(value).toString('latin1')}\r\n`)
    .join('');
  const length = body === undefined ? '' : `Content-Length: ${body.length}\r\n`;
  const head = `${exchange.method} ${bytesOf(exchange.path).toString('latin1')} HTTP/1.1\r\nHost: a\r\n${lines}${length}\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), body ?? Buffer.alloc(0)]);
}
