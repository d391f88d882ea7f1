/** Connects to servers: raw and TLS connections, and an HTTP/1.1 client with keep-alive per TLS identity. */
import * as http from 'node:http';
import * as https from 'node:https';
import { lookup } from 'node:dns/promises';
import { connect, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { Readable } from 'node:stream';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { onAbort } from '../../base/abort.ts';
import { hasErrorCode } from '../../base/errors.ts';
import { Lru } from '../../base/lru.ts';
import type { Dial, HttpAnswer, HttpCall, HttpUpgrade, Net, TlsOptions } from '../net.ts';
import type { Duplex } from '../streams.ts';
import { readThrottle } from './read-throttle.ts';
import { joinSmallChunks } from './small-chunks.ts';
import { duplexOf } from './streams.ts';

/** How many TLS identities have kept-alive connections. */
const MAX_IDENTITIES = 64;
/** Less than the 90 s after which servers close idle connections. */
const IDLE_SOCKET_MS = 60_000;

/** The network port, and the end of its kept connections. */
export interface NodeNet extends Net {
  /** Closes idle connections; running calls continue. */
  close(): void;
}

/** Makes the network port of this process. */
export function createNodeNet(): NodeNet {
  const plain = new http.Agent({ keepAlive: true, timeout: IDLE_SOCKET_MS });
  const agents = new Lru<string, https.Agent>(MAX_IDENTITIES, (_key, agent) => retire(agent));
  const agentFor = (call: HttpCall): http.Agent => {
    if (!call.url.startsWith('https:')) return plain;
    // Without the server's name, of which there is one per node behind a tunnel: an agent separates them itself.
    const identity = { ...call.tls, serverName: undefined };
    const key = JSON.stringify(identity);
    let agent = agents.get(key);
    if (agent === undefined) {
      agent = new https.Agent({ keepAlive: true, timeout: IDLE_SOCKET_MS, ...tlsOptions(identity) });
      agents.set(key, agent);
    }
    return agent;
  };
  return {
    dial,
    http: (call) => exchange(call, agentFor(call)),
    upgrade: (call) => upgrade(call),
    lookup: async (host) => (await lookup(host, { all: true })).map(({ address }) => address),
    interfaces,
    close() {
      plain.destroy();
      agents.clear();
    },
  };
}

/** Closes idle connections at once and others after their calls. */
function retire(agent: https.Agent): void {
  // Node.js reads it when a call ends; its types lack it.
  Object.assign(agent, { keepAlive: false });
  for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
}

function tlsOptions(tls: TlsOptions = {}): ConnectionOptions {
  return {
    cert: tls.certPem,
    key: tls.keyPem,
    // As in Go, every certificate of the pool is trusted by itself, also a server's own.
    ...(tls.caPem === undefined ? {} : { ca: tls.caPem, allowPartialTrustChain: true }),
    ...(tls.serverName === undefined ? {} : { servername: tls.serverName }),
    rejectUnauthorized: tls.insecureSkipVerify !== true,
  };
}

async function dial(target: Dial): Promise<Duplex> {
  target.signal?.throwIfAborted();
  const where =
    target.unixPath === undefined
      ? { host: target.host ?? '127.0.0.1', port: target.port ?? 0 }
      : { path: target.unixPath };
  const socket: Socket =
    target.tls === undefined
      ? connect({ ...where, allowHalfOpen: true })
      : connectTls({ ...where, ...tlsOptions(target.tls) });
  await waitFor(socket, target, (resolve) =>
    socket.once(target.tls === undefined ? 'connect' : 'secureConnect', resolve),
  );
  return duplexOf(socket);
}

/** Waits for `subscribe`'s event, the end of the connection, the deadline or the signal. */
async function waitFor<T>(
  stream: Socket | http.ClientRequest,
  limits: { readonly timeoutMs?: number; readonly signal?: AbortSignal },
  subscribe: (resolve: (value: T) => void) => void,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const deadline =
    limits.timeoutMs === undefined
      ? undefined
      : setTimeout(() => stream.destroy(timeoutError(limits.timeoutMs!)), limits.timeoutMs);
  const unhook = onAbort(limits.signal, () => {
    stream.destroy(asError(limits.signal!.reason));
  });
  stream.once('error', reject);
  stream.once('close', () => reject(Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' })));
  subscribe(resolve);
  try {
    return await promise;
  } catch (error) {
    throw limits.signal?.aborted ? limits.signal.reason : error;
  } finally {
    clearTimeout(deadline);
    unhook();
  }
}

function startRequest(call: HttpCall, agent: http.Agent | false): http.ClientRequest {
  call.signal?.throwIfAborted();
  const url = new URL(call.url);
  const secure = url.protocol === 'https:';
  if (!secure && url.protocol !== 'http:') throw new TypeError(`not an HTTP URL: ${call.url}`);
  const options: https.RequestOptions = {
    method: call.method,
    headers: { ...call.headers, ...lengthOf(call) } as http.OutgoingHttpHeaders,
    agent,
    socketPath: call.unixPath,
    ...(secure ? tlsOptions(call.tls) : {}),
  };
  const request = secure ? https.request(url, options) : http.request(url, options);
  request.on('error', () => undefined); // the waiting side has its own listener
  request.on('information', leaveAfterMany);
  request.once('response', joinSmallChunks);
  // Answers of thousands of chunks at one instant are read little by little, as requests are.
  request.once('socket', (socket) => readThrottle.add(socket, `to ${url.host}`));
  return request;
}

/** The most interim responses (1xx) before the final one, as in Go's net/http. */
const MAX_INTERIM = 5;

/** Aborts after too many: Node.js itself accepts them forever. */
function leaveAfterMany(this: http.ClientRequest & { interim?: number }): void {
  this.interim = (this.interim ?? 0) + 1;
  if (this.interim > MAX_INTERIM) this.destroy(new Error('too many 1xx informational responses'));
}

/** The length of the body, which Node.js omits for DELETE: the server would read the body as the next request. */
function lengthOf({ body, headers = {} }: HttpCall): { 'content-length'?: string } {
  const hasLength = Object.keys(headers).some((name) => /^(content-length|transfer-encoding)$/i.test(name));
  if (body === undefined || hasLength || isChunks(body)) return {};
  return { 'content-length': String(Buffer.byteLength(body)) };
}

type Body = NonNullable<HttpCall['body']>;

const isChunks = (body: Body): body is AsyncIterable<Uint8Array> =>
  typeof body !== 'string' && !(body instanceof Uint8Array);

function send(request: http.ClientRequest, body: Body | undefined): void {
  if (body === undefined || !isChunks(body)) {
    request.end(body);
    return;
  }
  const chunks = Readable.from(body, { objectMode: false });
  chunks.once('error', (error) => request.destroy(error));
  request.once('close', () => chunks.destroy());
  chunks.pipe(request);
}

async function exchange(call: HttpCall, agent: http.Agent): Promise<HttpAnswer> {
  const beganMs = performance.now();
  const request = startRequest(call, agent);
  try {
    const answer = waitFor<http.IncomingMessage>(request, headLimits(call), (resolve) =>
      request.once('response', resolve),
    );
    send(request, call.body);
    return toAnswer(call, await answer, beganMs);
  } catch (error) {
    // The server closed a kept-alive connection just when it was used: it has seen nothing of the request.
    const stale = request.reusedSocket && hasErrorCode(error, 'ECONNRESET');
    if (stale && ['GET', 'HEAD', 'OPTIONS'].includes(call.method) && !call.signal?.aborted)
      return exchange(call, agent);
    throw error;
  }
}

async function upgrade(call: HttpCall): Promise<HttpUpgrade | HttpAnswer> {
  const beganMs = performance.now();
  const headers = { connection: 'Upgrade', ...call.headers };
  const request = startRequest({ ...call, headers }, false);
  const answer = waitFor<HttpUpgrade | HttpAnswer>(request, headLimits(call), (resolve) => {
    request.once('upgrade', (message, socket, head) => {
      if (head.length > 0) socket.unshift(head);
      resolve({ status: 101, headers: flatHeaders(message), socket: duplexOf(socket) });
    });
    request.once('response', (message) => resolve(toAnswer(call, message, beganMs)));
  });
  send(request, call.body);
  return answer;
}

/** How long the head may take. */
function headLimits({
  timeoutMs = Infinity,
  headTimeoutMs = Infinity,
  signal,
}: HttpCall): Parameters<typeof waitFor>[1] {
  const leastMs = Math.min(timeoutMs, headTimeoutMs);
  return leastMs === Infinity ? { signal } : { signal, timeoutMs: leastMs };
}

function toAnswer(call: HttpCall, message: http.IncomingMessage, beganMs: number): HttpAnswer {
  message.on('error', () => undefined); // the reader of the body gets the error
  const { timeoutMs } = call;
  if (timeoutMs !== undefined) {
    const leftMs = Math.max(0, beganMs + timeoutMs - performance.now());
    const deadline = setTimeout(() => message.destroy(timeoutError(timeoutMs)), leftMs);
    message.once('close', () => clearTimeout(deadline));
  }
  if (call.signal !== undefined) {
    const leave = (): void => {
      message.destroy(asError(call.signal!.reason));
    };
    message.once('close', onAbort(call.signal, leave));
  }
  return {
    status: message.statusCode ?? 0,
    headers: flatHeaders(message),
    setCookie: message.headers['set-cookie'],
    body: message,
    cancel: () => message.destroy(),
  };
}

function flatHeaders(message: http.IncomingMessage): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(message.headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return flat;
}

function interfaces(): ReturnType<Net['interfaces']> {
  return Object.entries(networkInterfaces()).flatMap(([name, addresses]) =>
    (addresses ?? []).map(({ address, family, internal, cidr }) => ({
      name,
      address,
      family: family === 'IPv6' ? (6 as const) : (4 as const),
      internal,
      cidr: cidr ?? '',
    })),
  );
}

function timeoutError(timeoutMs: number): Error {
  return Object.assign(new Error(`timed out after ${timeoutMs} ms`), { code: 'ETIMEDOUT' });
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
