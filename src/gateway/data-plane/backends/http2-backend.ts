/** HTTP/2 to endpoints, with or without TLS, for gRPC servers: requests share a few connections to each endpoint. */
import { connect, constants, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import type { Clock } from '../../../platform/clock.ts';
import { readThrottle } from '../../../platform/node/read-throttle.ts';
import { headerObject, type HeaderLines } from '../header-lines.ts';
import type { Backend, Endpoint } from '../../snapshot/snapshot.ts';
import { tlsOptions, verificationId } from './verify-backend.ts';
import {
  CONNECT_TIMEOUT_MS,
  NotSentError,
  type BackendAnswer,
  type BackendCall,
  type BackendRequest,
  type Connector,
} from './backend-call.ts';

const IDLE_MS = 60_000;
/** With a lower limit of the server, another connection is opened. */
const STREAMS_PER_CONNECTION = 100;

interface Connection {
  readonly session: ClientHttp2Session;
  readonly ready: Promise<void>;
  streams: number;
}

export class Http2Connector implements Connector {
  readonly #clock: Clock;
  readonly #isTls: boolean;
  readonly #connections = new Map<string, Connection[]>();

  constructor(clock: Clock, isTls: boolean) {
    this.#clock = clock;
    this.#isTls = isTls;
  }

  close(): void {
    for (const list of this.#connections.values()) for (const { session } of list) session.destroy();
  }

  call(endpoint: Endpoint, request: BackendRequest, backend: Backend): BackendCall {
    const connection = this.#connectionTo(endpoint, backend, request.authority);
    connection.streams++;
    let stream: ClientHttp2Stream | undefined;
    let isCancelled = false;
    const begin = async (): Promise<BackendAnswer> => {
      try {
        await connection.ready;
        if (isCancelled) throw new Error('the client is gone');
        stream = connection.session.request(headOf(request, this.#isTls), { endStream: !request.hasBody });
      } catch (error) {
        connection.streams--;
        // Headers that cannot be sent are the client's fault, not the endpoint's.
        throw isUsable(connection.session) ? error : new NotSentError(error);
      }
      stream.once('close', () => connection.streams--);
      const answered = answerOf(stream, request.method);
      if (request.hasBody) request.sendBody(bodyTarget(stream));
      return await answered;
    };
    return {
      answer: begin(),
      cancel() {
        isCancelled = true;
        stream?.close(constants.NGHTTP2_CANCEL);
      },
    };
  }

  #connectionTo(endpoint: Endpoint, backend: Backend, authority: string): Connection {
    const { verification } = backend;
    // Connections with different verification are not shared.
    const verified = verification === undefined ? '' : verificationId(verification);
    const key = `${endpoint.address} ${endpoint.port} ${verified}`;
    const list = this.#connections.get(key) ?? [];
    const free = list.find(({ session, streams }) => {
      const { maxConcurrentStreams = STREAMS_PER_CONNECTION } = session.connecting ? {} : session.remoteSettings;
      return !session.closed && streams < Math.min(maxConcurrentStreams, STREAMS_PER_CONNECTION);
    });
    if (free !== undefined) return free;
    const options = this.#isTls ? { ...tlsOptions(backend, authority), ALPNProtocols: ['h2'] } : {};
    const made = this.#open(endpoint, options);
    list.push(made);
    this.#connections.set(key, list);
    made.session.once('close', () => {
      list.splice(list.indexOf(made), 1);
      if (list.length === 0 && this.#connections.get(key) === list) this.#connections.delete(key);
    });
    return made;
  }

  #open({ address, port }: Endpoint, options: object): Connection {
    const host = address.includes(':') ? `[${address}]` : address;
    const session = connect(`${this.#isTls ? 'https' : 'http'}://${host}:${port}`, options);
    session.on('error', () => undefined); // the session's streams and waiting requests receive the error
    session.setTimeout(IDLE_MS, () => session.close());
    const cancel = this.#clock.setTimer(CONNECT_TIMEOUT_MS, () => session.destroy(new Error('connect timed out')));
    const ready = new Promise<void>((resolve, reject) => {
      session.once('connect', (_session, socket) => {
        readThrottle.add(socket, `to ${address}`);
        resolve();
      });
      session.once('error', reject);
      session.once('close', () => reject(new Error('the connection has ended')));
    }).finally(cancel);
    ready.catch(() => undefined);
    return { session, ready, streams: 0 };
  }
}

function isUsable(session: ClientHttp2Session): boolean {
  return !session.connecting && !session.closed && !session.destroyed;
}

function headOf(
  { method, target, authority, headers, takesTrailers }: BackendRequest,
  isTls: boolean,
): Record<string, string | string[]> {
  const lines = headerObject(headers);
  if (takesTrailers) lines['te'] = 'trailers';
  return { ':method': method, ':scheme': isTls ? 'https' : 'http', ':authority': authority, ':path': target, ...lines };
}

function bodyTarget(stream: ClientHttp2Stream): Parameters<BackendRequest['sendBody']>[0] {
  return {
    write: (chunk) => stream.write(chunk),
    onDrain(callback) {
      stream.on('drain', callback);
    },
    end() {
      stream.end();
    },
  };
}

function answerOf(stream: ClientHttp2Stream, method: string): Promise<BackendAnswer> {
  let trailers: HeaderLines = [];
  return new Promise((resolve, reject) => {
    stream.on('error', reject);
    stream.once('close', () => reject(new Error('the endpoint ended the request')));
    stream.on('trailers', (...[, , raw]: unknown[]) => {
      if (Array.isArray(raw)) trailers = raw as string[];
    });
    stream.once('response', (headers, flags, ...[raw]: unknown[]) => {
      const lines = (raw as string[]).filter((_, at, all) => all[at - (at % 2)]![0] !== ':');
      resolve({
        status: headers[':status'] ?? 502,
        headers: lines,
        hasBody: method !== 'HEAD' && (flags & constants.NGHTTP2_FLAG_END_STREAM) === 0,
        body: stream,
        trailers: () => trailers,
        errorCode: () => stream.rstCode || undefined,
      });
    });
  });
}
