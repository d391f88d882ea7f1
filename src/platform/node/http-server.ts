/**
 * Listening servers: HTTP/1.1 and, over TLS and chosen by ALPN, HTTP/2 on one port. Client certificates are asked for and
 * verified, never required: who the peer is, the authenticators decide. Slow clients are cut off by Node's own timeouts.
 */
import { constants } from 'node:crypto';
import * as http from 'node:http';
import * as https from 'node:https';
import { performServerHandshake, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import type { BacklogLimits } from '../../base/backlog.ts';
import { errorMessage } from '../../base/errors.ts';
import { certificateBlocks } from '../certificate-blocks.ts';
import type {
  HttpHandler,
  HttpResponse,
  HttpServer,
  ListenHttp,
  ListenOptions,
  ServedCertificates,
  SniCertificate,
} from '../http.ts';
import type { Log } from '../log.ts';
import { background } from '../unexpected.ts';
import { Pipelines } from './pipelines.ts';
import { ConnectionCount, type ConnectionLimits } from '../../base/connection-count.ts';
import { ownConnectionLimits } from './connection-limits.ts';
import { Http1Request, plainAddress, sendHttp1 } from './http1.ts';
import { Http2Request, sendHttp2 } from './http2.ts';
import { Http2Sessions } from './http2-sessions.ts';
import { loopTurns } from './loop-turns.ts';
import { holdHandshakes } from './held-handshakes.ts';
import { certificatesByName, contextOf } from './sni.ts';
import { authoritiesOf, type ClientTrust, verifiedPeer, verifyPeerBy } from './tls.ts';
import { duplexOf, endUnread } from './streams.ts';
import { UnsentAnswers } from './unsent-answers.ts';

/** Upstream's limits: connections idle for 90 s close (HTTP/2: `http2-sessions.ts`); 250 streams per HTTP/2 connection. */
const IDLE_TIMEOUT_MS = 90_000;
const DEFAULT_MAX_STREAMS = 250;
/** Upstream's ReadHeaderTimeout, and Go's limit of a TLS handshake; how often Node.js looks whether they are over. */
const HEAD_TIMEOUT_MS = 32_000;
const HANDSHAKE_TIMEOUT_MS = 10_000;
const CHECK_EVERY_MS = 5_000;
/** Request line and headers together; selectors in queries grow long. */
const MAX_HEADER_BYTES = 64 * 1024;

/** Opens servers; see `ListenHttp`. What breaks in an answer goes to `log` and ends that answer alone. */
export function createListenHttp(
  log: Log,
  limits: ConnectionLimits = ownConnectionLimits(),
  backlog?: BacklogLimits,
): ListenHttp {
  return async (options, handler) => {
    const server = new Listener(options, handler, { log, limits, backlog });
    await server.listen(options);
    return server;
  };
}

const TLS13_SUITES = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];

/**
 * Authorities of clients, for TLS: a block each, as texts that were joined may lack a line break between. A resumed session
 * would bring the verdict on its certificate along and outlive the certificate, and the authority: none is resumed.
 */
function verifiedClients(clientCaPem: string | undefined): { ca?: string[]; secureOptions?: number } {
  if (clientCaPem === undefined) return {};
  return { ca: [...certificateBlocks(clientCaPem)], secureOptions: constants.SSL_OP_NO_TICKET };
}

type TlsChoices = Partial<Omit<NonNullable<ListenOptions['tls']>, 'certPem' | 'keyPem' | 'clientCaPem'>>;

function versionsOf({ minVersion = 'TLSv1.2', ciphers }: TlsChoices): {
  minVersion: typeof minVersion;
  ciphers?: string;
} {
  if (ciphers === undefined) return { minVersion };
  // Who chooses among the suites of TLS 1.2 means those alone; without any of its own TLS 1.3 would not be offered.
  const later = ciphers.some((name) => TLS13_SUITES.includes(name)) ? [] : TLS13_SUITES;
  return { minVersion, ciphers: [...later, ...ciphers].join(':') };
}

class Listener implements HttpServer {
  readonly #handler: HttpHandler;
  readonly #log: Log;
  readonly #server: http.Server | https.Server;
  readonly #tls: TlsChoices;
  #clientCaPem: string | undefined;
  readonly #trust: ClientTrust = { authorities: [] };
  #sni: readonly SniCertificate[];
  #named: ReadonlyMap<string, SecureContext> = new Map();
  #closed: Promise<void> | undefined;
  readonly #sockets = new Set<Socket>();
  readonly #pipelines = new Pipelines();
  readonly #connections: ConnectionCount;
  readonly #sessions = new Http2Sessions();
  readonly #unsent: UnsentAnswers;

  constructor(
    options: ListenOptions,
    handler: HttpHandler,
    of: { readonly log: Log; readonly limits: ConnectionLimits; readonly backlog?: BacklogLimits | undefined },
  ) {
    this.#handler = handler;
    this.#log = of.log;
    this.#connections = new ConnectionCount(of.limits);
    this.#unsent = new UnsentAnswers(of.backlog);
    this.#clientCaPem = options.tls?.clientCaPem;
    this.#tls = options.tls ?? {};
    this.#sni = options.tls?.sni ?? [];
    const limits = {
      keepAliveTimeout: IDLE_TIMEOUT_MS,
      headersTimeout: HEAD_TIMEOUT_MS,
      connectionsCheckingInterval: CHECK_EVERY_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      shouldUpgradeCallback: wantsSwitch,
    };
    this.#server = options.tls === undefined ? http.createServer(limits) : this.#createTls(limits, options.tls);
    this.#server.on('request', (message, response) => this.#onRequest(message, response));
    this.#server.on('upgrade', (message, socket, head) => {
      background(this.#log, 'an upgrade could not be answered', this.#onUpgrade(message, socket as Socket, head));
    });
    // First, before TLS takes the connection.
    this.#server.prependListener('connection', (socket: Socket) => this.#onConnection(socket));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  listen({ host, port, sharesPort = false }: ListenOptions): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host, port, backlog: 1024, reusePort: sharesPort ? true : undefined }, () => {
        this.#server.off('error', reject);
        // A connection that could not be accepted: the others go on.
        this.#server.on('error', (error) => this.#log.unexpected('a listening socket failed', error));
        resolve();
      });
    });
  }

  setCertificate({ certPem, keyPem, clientCaPem = this.#clientCaPem, sni = this.#sni }: ServedCertificates): void {
    if (!(this.#server instanceof https.Server)) throw new Error('a plain HTTP server has no certificate');
    if (certPem === '' || keyPem === '') throw new Error('an empty certificate or key cannot be served');
    const authorities = readClientCa(clientCaPem);
    const isSame = clientCaPem === this.#clientCaPem && sni === this.#sni;
    const named = isSame ? this.#named : contextsByName(this.#tls, sni, clientCaPem);
    this.#server.setSecureContext({
      cert: certPem,
      key: keyPem,
      ...verifiedClients(clientCaPem),
      ...versionsOf(this.#tls),
    });
    if (clientCaPem !== this.#clientCaPem) this.#trust.authorities = authorities;
    [this.#named, this.#sni, this.#clientCaPem] = [named, sni, clientCaPem];
  }

  #onConnection(socket: Socket): void {
    const { remoteAddress = '' } = socket;
    if (!this.#connections.enter(remoteAddress)) {
      socket.destroy();
      this.#log.warn('a connection was refused, there are too many', { remoteAddress });
      return;
    }
    this.#sockets.add(socket);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      this.#connections.leave(remoteAddress);
    });
  }

  async close(graceMs: number): Promise<void> {
    this.#closed ??= new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#sessions.close();
    // A connection becomes idle when its last request ends, and would then stay for its keep-alive time.
    const sweep = setInterval(() => this.#server.closeIdleConnections(), 20);
    const deadline = setTimeout(() => this.#abortAll(), graceMs);
    await this.#closed;
    clearInterval(sweep);
    clearTimeout(deadline);
  }

  #abortAll(): void {
    this.#sessions.destroy();
    for (const socket of this.#sockets) socket.destroy();
  }

  #createTls(limits: https.ServerOptions, tls: NonNullable<ListenOptions['tls']>): https.Server {
    const http2 = tls.http2 ?? true;
    this.#trust.authorities = readClientCa(tls.clientCaPem);
    this.#named = contextsByName(tls, this.#sni, tls.clientCaPem);
    const answerName: https.ServerOptions['SNICallback'] = (name, tell) => tell(null, contextOf(this.#named, name));
    const server = https.createServer({
      ...limits,
      pauseOnConnect: true,
      ...(this.#sni.length > 0 && { SNICallback: answerName }),
      cert: tls.certPem,
      key: tls.keyPem,
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      requestCert: tls.clientCaPem !== undefined,
      rejectUnauthorized: false,
      ...verifiedClients(tls.clientCaPem),
      ...versionsOf(tls),
      ALPNProtocols: http2 ? ['h2', 'http/1.1'] : ['http/1.1'],
    });
    if (tls.clientCaPem !== undefined)
      server.prependListener('secureConnection', (socket: TLSSocket) => verifyPeerBy(socket, this.#trust));
    holdHandshakes(server, HANDSHAKE_TIMEOUT_MS);
    if (!http2) return server;
    // What http2.createSecureServer({ allowHTTP1 }) does, without its compatibility objects for every HTTP/2 stream.
    const startHttp1 = server.listeners('secureConnection').at(-1) as (socket: TLSSocket) => void;
    server.off('secureConnection', startHttp1);
    server.on('secureConnection', (socket: TLSSocket) => {
      if (socket.alpnProtocol === 'h2') this.#startHttp2(socket);
      else startHttp1.call(server, socket);
    });
    return server;
  }

  #startHttp2(socket: TLSSocket): void {
    const maxConcurrentStreams = this.#tls.http2MaxStreams ?? DEFAULT_MAX_STREAMS;
    const session = performServerHandshake(socket, { settings: { maxConcurrentStreams }, maxSessionMemory: 64 });
    this.#sessions.add(session, socket);
    session.on('error', () => undefined); // the streams of the session end with it
    session.on('stream', (stream, headers, ...[, lines]) => {
      this.#sessions.began(session, stream);
      stream.on('error', () => undefined); // shows in the request's signal and body
      const request = new Http2Request(stream, { headers, lines, socket });
      const due = loopTurns.begin(laneOf(socket));
      if (due === undefined) this.#serveHttp2(stream, request);
      else {
        const serve = (): void => {
          if (!stream.destroyed) this.#serveHttp2(stream, request);
        };
        this.#later(request, due.then(serve));
      }
    });
  }

  #serveHttp2(stream: ServerHttp2Stream, request: Http2Request): void {
    try {
      const result = this.#handler(request);
      if (result instanceof Promise) this.#later(request, this.#answerHttp2(stream, request, result));
      else
        this.#sendHttp2(stream, request, result)?.catch((error: unknown) => this.#breakHttp2(stream, request, error));
    } catch (error) {
      this.#breakHttp2(stream, request, error);
    }
  }

  async #answerHttp2(stream: ServerHttp2Stream, request: Http2Request, result: Promise<HttpResponse>): Promise<void> {
    try {
      await this.#sendHttp2(stream, request, await result);
    } catch (error) {
      this.#breakHttp2(stream, request, error);
    }
  }

  #sendHttp2(stream: ServerHttp2Stream, request: Http2Request, result: HttpResponse): Promise<void> | undefined {
    return sendHttp2(stream, { request, unsent: this.#unsent }, result);
  }

  #breakHttp2(stream: ServerHttp2Stream, request: Http2Request, error: unknown): void {
    const isLate = stream.destroyed || stream.headersSent;
    if (!isLate || !isOfConnection(error)) this.#report(request, error);
    if (stream.destroyed) return;
    // Resetting the stream tells the client that the answer is not whole; `close` would end it first.
    if (stream.headersSent) stream.destroy(error as Error);
    else this.#later(request, this.#sendHttp2(stream, request, brokenAnswer));
  }

  #onRequest(message: http.IncomingMessage, response: http.ServerResponse): void {
    goOnReading(message.socket);
    this.#pipelines.enter(message.socket, response, () => {
      const due = loopTurns.begin(laneOf(message.socket));
      if (due === undefined) this.#serve(message, response);
      else {
        const serve = (): void => {
          if (!response.destroyed) this.#serve(message, response);
        };
        background(this.#log, 'a request could not be served', due.then(serve));
      }
    });
  }

  #serve(message: http.IncomingMessage, response: http.ServerResponse): void {
    const request = new Http1Request(message, response);
    try {
      const result = this.#handler(request);
      if (result instanceof Promise) this.#later(request, this.#answerHttp1(response, request, result));
      else
        answerHttp1(response, result, this.#unsent)?.catch((error: unknown) =>
          this.#breakHttp1(response, request, error),
        );
    } catch (error) {
      this.#breakHttp1(response, request, error);
    }
  }

  async #answerHttp1(
    response: http.ServerResponse,
    request: Http1Request,
    result: Promise<HttpResponse>,
  ): Promise<void> {
    try {
      await answerHttp1(response, await result, this.#unsent);
    } catch (error) {
      this.#breakHttp1(response, request, error);
    }
  }

  /** A 500 where no head has been made yet; else cutting the connection tells the client that the answer is not whole. */
  #breakHttp1(response: http.ServerResponse, request: Http1Request, error: unknown): void {
    const isLate = response.destroyed || response.headersSent;
    if (!isLate || !isOfConnection(error)) this.#report(request, error);
    if (response.destroyed) return;
    if (response.headersSent) response.destroy();
    else this.#later(request, sendHttp1(response, brokenAnswer, this.#unsent));
  }

  async #onUpgrade(message: http.IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    socket.on('error', () => undefined); // shows in the duplex, or nobody waits for it
    if (head.length > 0) socket.unshift(head);
    const request = new Http1Request(message, undefined);
    let result: HttpResponse;
    try {
      result = await this.#handler(request);
    } catch (error) {
      this.#report(request, error);
      result = brokenAnswer;
    }
    if (result.kind !== 'upgrade') return this.#refuseUpgrade(message, socket, { request, result });
    try {
      if (socket.destroyed) result.dispose?.();
      else await acceptUpgrade(socket, result);
    } catch (error) {
      if (!isOfConnection(error)) this.#report(request, error);
    }
  }

  #refuseUpgrade(
    message: http.IncomingMessage,
    socket: Socket,
    { request, result }: { request: Http1Request; result: HttpResponse },
  ): Promise<void> | undefined {
    if (socket.destroyed) return undefined;
    const response = new http.ServerResponse(message);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => endUnread(socket));
    // Node.js has left the connection: it neither wakes the answer when there is room nor hears that the client has gone.
    socket.on('drain', () => response.emit('drain')).resume();
    return this.#answerHttp1(response, request, Promise.resolve(result));
  }

  #later(request: Http1Request | Http2Request, work: Promise<void> | undefined): void {
    work?.catch((error: unknown) => this.#report(request, error));
  }

  #report({ method, path }: Http1Request | Http2Request, error: unknown): void {
    this.#log.unexpected('an answer could not be sent', error, { method, path });
  }
}

/**
 * While a large answer is on its way, Node.js stops reading and its parser. What TLS has decrypted by then reaches the parser
 * all the same and ends the connection: a body right behind its head. It may read on, unless answers that wait fill up.
 */
function goOnReading(socket: Socket): void {
  if (socket.isPaused()) socket.emit('drain');
}

/** The requests of nodes, components and administrators wait with the cluster's own work, all others by address. */
function laneOf(socket: Socket): string | undefined {
  return verifiedPeer(socket) === undefined ? plainAddress(socket.remoteAddress) : undefined;
}

/** Throws for certificates that cannot be served. */
function contextsByName(
  tls: TlsChoices,
  sni: readonly SniCertificate[],
  clientCaPem: string | undefined,
): ReadonlyMap<string, SecureContext> {
  const contexts = [...certificatesByName(sni)].map(([name, { certPem: cert, keyPem: key }]) => {
    if (cert === '' || key === '') throw new Error('an empty certificate or key cannot be served');
    return [name, createSecureContext({ cert, key, ...verifiedClients(clientCaPem), ...versionsOf(tls) })] as const;
  });
  return new Map(contexts);
}

/** Node takes '' for no authority of one's own, and trusts the world's public ones then; what is cut off it leaves out. */
function readClientCa(pem: string | undefined): ClientTrust['authorities'] {
  try {
    return pem === undefined ? [] : authoritiesOf(pem);
  } catch (error) {
    throw new Error(`unable to load client CA: ${errorMessage(error)}`, { cause: error });
  }
}

/** `Upgrade: h2c` is an offer to be ignored, not a wish to leave HTTP. */
function wantsSwitch(message: http.IncomingMessage): boolean {
  return message.headers.upgrade?.toLowerCase() !== 'h2c';
}

/** Upstream's answer to a panic is a 500 as well; clients of the API read it as a Status. */
const brokenAnswer = {
  kind: 'bytes',
  status: 500,
  headers: { 'content-type': 'application/json' },
  chunks: [
    Buffer.from(
      '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Internal error occurred: ' +
        'the answer could not be sent, the server\'s log has the reason","reason":"InternalError","code":500}\n',
    ),
  ],
} as const satisfies HttpResponse;

/** True for what other sides and the system end answers with. Node's own codes of misuse begin with ERR_. */
function isOfConnection(error: unknown): boolean {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  return name === 'AbortError' || (typeof code === 'string' && (!code.startsWith('ERR_') || STREAM_ENDS.has(code)));
}

const STREAM_ENDS = new Set(['ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_DESTROYED', 'ERR_HTTP2_INVALID_STREAM']);

function answerHttp1(
  response: http.ServerResponse,
  result: HttpResponse,
  unsent: UnsentAnswers,
): Promise<void> | undefined {
  if (result.kind === 'upgrade') result.dispose?.();
  return sendHttp1(response, result.kind === 'upgrade' ? notAnUpgrade : result, unsent);
}

async function acceptUpgrade(socket: Socket, result: Extract<HttpResponse, { kind: 'upgrade' }>): Promise<void> {
  const duplex = duplexOf(socket);
  try {
    await result.accept(duplex);
    endUnread(socket);
  } catch (error) {
    duplex.destroy(error as Error);
    throw error;
  }
}

const notAnUpgrade = {
  kind: 'bytes',
  status: 400,
  headers: { 'content-type': 'text/plain; charset=utf-8' },
  chunks: [Buffer.from('you must request an upgrade\n')],
} as const satisfies HttpResponse;
