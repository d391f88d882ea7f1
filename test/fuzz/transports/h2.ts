// Requests over HTTP/2 by Node's client, many at a time on one connection.
import { type ClientHttp2Session, connect, constants } from 'node:http2';
import { type Answer, bytesOf, type HttpExchange } from '../exchange.ts';
import { type Access, isOpenEnded, LATE_MS, open, OPEN_MS } from './access.ts';

/** Headers that HTTP/2 forbids. */
const connectionHeaders = new Set([
  'connection',
  'upgrade',
  'transfer-encoding',
  'keep-alive',
  'host',
  'expect',
  'http2-settings',
]);

export class H2Client {
  readonly #access: Access;
  #session: ClientHttp2Session | undefined;
  #used = 0;

  constructor(access: Access) {
    this.#access = access;
  }

  send(exchange: HttpExchange): Promise<Answer> {
    const startedMs = performance.now();
    const { promise, resolve } = Promise.withResolvers<Answer>();
    const end = (answer: Omit<Answer, 'durationMs'>): void =>
      resolve({ ...answer, durationMs: performance.now() - startedMs });
    let stream;
    try {
      stream = this.#connection().request(headersOf(exchange, this.#access), {
        endStream: exchange.body === undefined,
      });
    } catch {
      end({ outcome: 'closed' }); // Node's client refuses to send this
      return promise;
    }
    let head: { status: number; headers: Record<string, string> } | undefined;
    const body: Buffer[] = [];
    const isOpen = isOpenEnded(exchange);
    const timer = setTimeout(
      () => {
        end({ outcome: isOpen ? 'cut' : 'late', ...head });
        stream.close(constants.NGHTTP2_CANCEL);
      },
      isOpen ? OPEN_MS : LATE_MS,
    );
    stream.on('response', (headers) => {
      const { ':status': status = 0, ...rest } = headers;
      head = { status, headers: rest as unknown as Record<string, string> };
    });
    stream.on('data', (chunk: Buffer) => body.push(chunk));
    stream.on('error', () => undefined); // `close` follows
    // When the server resets a stream without an error while a body is being written, Node's client never closes it.
    stream.on('end', () => {
      if (stream.rstCode !== constants.NGHTTP2_NO_ERROR || head === undefined) return;
      clearTimeout(timer);
      end({ outcome: 'answered', ...head, body: Buffer.concat(body) });
      stream.close(constants.NGHTTP2_CANCEL);
    });
    stream.on('close', () => {
      clearTimeout(timer);
      const isWhole = stream.rstCode === constants.NGHTTP2_NO_ERROR && head !== undefined;
      end(isWhole ? { outcome: 'answered', ...head, body: Buffer.concat(body) } : { outcome: 'closed', ...head });
    });
    if (exchange.body !== undefined) stream.end(bytesOf(exchange.body));
    return promise;
  }

  close(): void {
    this.#session?.destroy();
    this.#session = undefined;
  }

  /** Replaced at intervals, so that a bad connection does not affect all other requests. */
  #connection(): ClientHttp2Session {
    const session = this.#session;
    if (session !== undefined && !session.closed && !session.destroyed && this.#used++ < 500) return session;
    session?.close();
    // Node's client refuses every stream of a session that holds more than 10 MB, including its own large bodies.
    const maxSessionMemory = 1000;
    const isSecure = 'host' in this.#access && this.#access.tls !== undefined;
    const next = connect(isSecure ? 'https://a' : 'http://a', {
      createConnection: () => open(this.#access, 'h2').socket,
      maxSessionMemory,
      // As Go's client, with a large window, so that a response does not wait for a round trip per 64 KB.
      settings: { initialWindowSize: 4 * 1024 * 1024 },
    });
    next.once('connect', () => next.destroyed || next.setLocalWindowSize(2 ** 30));
    next.on('error', () => undefined); // its streams end with it
    this.#session = next;
    this.#used = 0;
    return next;
  }
}

function headersOf(exchange: HttpExchange, access: Access): Record<string, string | string[]> {
  const headers = Object.create(null) as Record<string, string | string[]>;
  headers[':method'] = exchange.method;
  headers[':path'] = bytesOf(exchange.path).toString('latin1');
  const own = 'headers' in access ? (access.headers ?? []) : [];
  for (const [name, value] of [...own, ...exchange.headers]) {
    const key = name.toLowerCase();
    if (connectionHeaders.has(key)) continue;
    const text = bytesOf(value).toString('latin1');
    const before = headers[key];
    headers[key] = before === undefined ? text : [before, text].flat();
  }
  return headers;
}
