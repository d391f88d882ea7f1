/**
 * One listening port: HTTP/1.1 and HTTP/2, chosen by ALPN over TLS, with certificates by server name; without TLS chosen by the
 * client's first bytes (prior knowledge). Changes of routes and certificates do not affect connections. Clients that send their
 * headers slowly, or open too many connections, are disconnected. Requests begin in turns of the event loop, clients taking turns.
 */
import type { EventEmitter } from 'node:events';
import * as http from 'node:http';
import { performServerHandshake } from 'node:http2';
import * as https from 'node:https';
import type { Socket } from 'node:net';
import type { SecureContext, TLSSocket } from 'node:tls';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { Http2Sessions } from '../../platform/node/http2-sessions.ts';
import { flowOf } from '../../platform/node/client-flow.ts';
import { Pipelines } from '../../platform/node/pipelines.ts';
import { queueHandshakes } from '../../platform/node/queued-handshakes.ts';
import { readThrottle } from '../../platform/node/read-throttle.ts';
import { requestTurn, serveInTurn } from '../../platform/node/request-turns.ts';
import { contextOf } from '../../platform/node/sni.ts';
import { background } from '../../platform/unexpected.ts';
import type { ByServerName } from './certificate-for.ts';
import { ClientHelloReader } from './client-hello.ts';
import { answerText, type Exchange } from './exchange.ts';
import { http2Detector, withFirstBytes } from './first-bytes.ts';
import { Http1Exchange, hasBody, malformedHead } from './http1-front.ts';
import { Http2Exchange, malformedHttp2Head } from './http2-front.ts';
import { terminateTls } from './terminate-tls.ts';
import { refuseUpgrade } from './upgrade.ts';
import type { PlaneLimits } from './plane-limits.ts';
import type { Router } from './router.ts';

const KEEP_ALIVE_MS = 75_000;
const HEAD_TIMEOUT_MS = 10_000;
const HANDSHAKE_TIMEOUT_MS = 10_000;
const CHECK_EVERY_MS = 2_000;
const MAX_HEADER_BYTES = 32 * 1024;
const MAX_STREAMS = 128;
const TOO_MANY = 'too many requests are under way';

export interface PortServerDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly router: Router;
  readonly limits: PlaneLimits;
}

export class PortServer {
  readonly isTls: boolean;
  readonly #deps: PortServerDeps;
  readonly #port: number;
  readonly #server: http.Server | https.Server;
  readonly #sessions = new Http2Sessions();
  readonly #sockets = new Set<Socket>();
  /** Connections that have not sent enough bytes to determine their protocol. */
  readonly #silent = new Set<Socket>();
  readonly #pipelines = new Pipelines();
  #certificates: ByServerName<SecureContext> = new Map();

  constructor(deps: PortServerDeps, port: number, isTls: boolean) {
    this.#deps = deps;
    this.#port = port;
    this.isTls = isTls;
    const limits = {
      keepAliveTimeout: KEEP_ALIVE_MS,
      headersTimeout: HEAD_TIMEOUT_MS,
      // http1-front.ts limits only the idle time of bodies.
      requestTimeout: 0,
      connectionsCheckingInterval: CHECK_EVERY_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      shouldUpgradeCallback: switches,
    };
    this.#server = isTls ? this.#createTls(limits) : this.#createPlain(limits);
    this.#server.on('request', (message, response) => this.#onRequest(message, response));
    this.#server.on('upgrade', (message, socket, head) => this.#onUpgrade(message, socket as Socket, head));
    this.#server.prependListener('connection', (socket: Socket) => this.#onConnection(socket));
  }

  use(certificates: ByServerName<SecureContext>): void {
    this.#certificates = certificates;
  }

  /** Listens on all addresses of the machine. Rejects with Node's error code. */
  listen(): Promise<void> {
    const server = this.#server;
    const before = new Set(server.rawListeners('listening'));
    return new Promise((resolve, reject) => {
      const onError = (error: Error): void => {
        // Those of the failed attempt would stay.
        for (const listener of server.rawListeners('listening'))
          if (!before.has(listener)) server.off('listening', listener as () => void);
        reject(error);
      };
      server.once('error', onError);
      server.listen({ port: this.#port, backlog: 1024 }, () => {
        server.off('error', onError);
        server.on('error', (error) => this.#deps.log.unexpected('a listening socket failed', error));
        resolve();
      });
    });
  }

  /** Accepts no new connections; existing ones may finish. Resolves when all have ended. */
  async close(graceMs: number): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#sessions.close();
    for (const socket of this.#silent) socket.destroy();
    const sweep = this.#deps.clock.setTicker(100, () => this.#server.closeIdleConnections());
    const deadline = this.#deps.clock.setTimer(graceMs, () => {
      this.#sessions.destroy();
      for (const socket of this.#sockets) socket.destroy();
    });
    await closed;
    sweep();
    deadline();
  }

  #onConnection(socket: Socket): void {
    const { remoteAddress = '' } = socket;
    const { connections } = this.#deps.limits;
    if (!connections.enter(remoteAddress)) {
      socket.destroy();
      return;
    }
    socket.setNoDelay(true);
    this.#sockets.add(socket);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      connections.leave(remoteAddress);
    });
  }

  #onRequest(message: http.IncomingMessage, response: http.ServerResponse): void {
    message.on('error', () => undefined); // the end of the response shows the error
    this.#pipelines.enter(message, response, () => {
      const exchange = new Http1Exchange(message, response, this.#deps.clock);
      const due = requestTurn(flowOf(message.socket));
      const serve = (): void => {
        if (!response.destroyed) this.#serveHttp1(exchange, message, response);
      };
      if (due === undefined) serve();
      else this.#later(due.then(serve));
    });
  }

  #serveHttp1(exchange: Http1Exchange, message: http.IncomingMessage, response: http.ServerResponse): void {
    const malformed = malformedHead(message);
    if (malformed === undefined) return this.#serve(exchange, message.socket, response);
    response.shouldKeepAlive = false;
    answerText(exchange, 400, malformed);
  }

  #later(served: Promise<void> | undefined): void {
    if (served !== undefined) background(this.#deps.log, 'a request could not be served', served);
  }

  /** `answer` closes when the request is over. */
  #serve(exchange: Exchange, socket: Socket, answer: EventEmitter): void {
    if (!this.#begin(exchange.clientAddress, answer)) answerText(exchange, 503, TOO_MANY);
    else this.#guard(socket, () => this.#deps.router.serve(exchange, this.#port));
  }

  /** Counts a request until it closes. Returns false when there are too many. */
  #begin(address: string, request: EventEmitter): boolean {
    const { requests } = this.#deps.limits;
    if (!requests.enter(address)) return false;
    request.once('close', () => requests.leave(address));
    return true;
  }

  #onUpgrade(message: http.IncomingMessage, socket: Socket, head: Buffer): void {
    socket.on('error', () => socket.destroy());
    const malformed = malformedHead(message);
    const refuse = (status: number, text: string): void => refuseUpgrade(socket, this.#deps.clock, { status, text });
    if (malformed !== undefined) return refuse(400, malformed);
    if (!this.#begin(socket.remoteAddress ?? '', socket)) return refuse(503, TOO_MANY);
    const serve = (): void =>
      this.#guard(socket, () => this.#deps.router.serveUpgrade(message, socket, head, this.#port));
    const due = requestTurn(flowOf(socket));
    if (due === undefined) serve();
    else this.#later(due.then(serve));
  }

  #startHttp2(socket: Socket): void {
    const flow = flowOf(socket);
    readThrottle.add(socket, flow);
    const session = performServerHandshake(socket, {
      settings: { maxConcurrentStreams: MAX_STREAMS, enableConnectProtocol: false },
      maxSessionMemory: 32,
    });
    const peer = { clientAddress: socket.remoteAddress ?? '', isTls: this.isTls, clock: this.#deps.clock };
    this.#sessions.add(session, socket);
    session.on('error', () => undefined); // the session's streams end with it
    session.on('stream', (stream, headers, ...[, lines]) => {
      this.#sessions.began(session, stream);
      stream.on('error', () => undefined); // the end of the response shows the error
      const exchange = new Http2Exchange(stream, headers, lines, peer);
      const serve = (): void =>
        this.#guard(socket, () => {
          const malformed = malformedHttp2Head(headers, lines);
          if (malformed === undefined) this.#serve(exchange, socket, stream);
          else answerText(exchange, 400, malformed);
        });
      const due = requestTurn(flow);
      if (due === undefined) serve();
      else this.#later(serveInTurn(stream, { flow, lines, due }, serve));
    });
  }

  /** An error during a request ends only its connection. */
  #guard(socket: { destroy(): unknown }, work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#deps.log.unexpected('a request could not be served', error);
      socket.destroy();
    }
  }

  #createPlain(limits: http.ServerOptions): http.Server {
    const server = http.createServer(limits);
    const startHttp1 = server.listeners('connection').at(-1) as (socket: Socket) => void;
    server.off('connection', startHttp1);
    server.on('connection', (socket: Socket) =>
      this.#whenKnown(socket, http2Detector(), (isHttp2) => {
        if (isHttp2) return this.#startHttp2(socket);
        readThrottle.add(socket, flowOf(socket));
        startHttp1.call(server, socket);
        socket.resume();
      }),
    );
    return server;
  }

  /** Calls `callback` once the first bytes of the connection determine its protocol. */
  #whenKnown<T>(socket: Socket, decide: (chunk: Buffer) => T | undefined, callback: (decision: T) => void): void {
    this.#silent.add(socket);
    socket.once('close', () => this.#silent.delete(socket));
    withFirstBytes(socket, { clock: this.#deps.clock, limitMs: HEAD_TIMEOUT_MS, decide }, (decision) => {
      this.#silent.delete(socket);
      this.#guard(socket, () => callback(decision));
    });
  }

  #createTls(limits: http.ServerOptions): https.Server {
    const server = https.createServer({
      ...limits,
      pauseOnConnect: true,
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      minVersion: 'TLSv1.2',
      ALPNProtocols: ['h2', 'http/1.1'],
      SNICallback: (name, callback) =>
        callback(null, contextOf(this.#certificates, name) ?? this.#certificates.get('')),
    });
    // Replaces http2.createSecureServer({ allowHTTP1 }), without its compatibility objects for every stream.
    const startHttp1 = server.listeners('secureConnection').at(-1) as (socket: TLSSocket) => void;
    server.off('secureConnection', startHttp1);
    server.on('secureConnection', (socket: TLSSocket) => {
      if (socket.alpnProtocol === 'h2') return this.#startHttp2(socket);
      readThrottle.add(socket, flowOf(socket));
      startHttp1.call(server, socket);
    });
    const startTls = server.listeners('connection').at(-1) as (socket: Socket) => void;
    server.off('connection', startTls);
    server.on('connection', (socket: Socket) => {
      if (!this.#deps.router.hasPassthrough(this.#port)) return startTls.call(server, socket);
      const reader = new ClientHelloReader();
      this.#whenKnown(
        socket,
        (chunk) => reader.read(chunk),
        (hello) => {
          if (!hello.isTls) socket.destroy();
          else this.#serveTls(socket, hello.serverName, () => startTls.call(server, socket));
        },
      );
    });
    queueHandshakes(server, HANDSHAKE_TIMEOUT_MS);
    return server;
  }

  /** A TLS connection whose server name may belong to a TLSRoute. */
  #serveTls(socket: Socket, serverName: string, startHttp: () => void): void {
    const { router } = this.#deps;
    const owner = router.ownerOf(this.#port, serverName);
    if (owner === 'http') return startHttp();
    if (owner === undefined || !this.#begin(socket.remoteAddress ?? '', socket)) socket.destroy();
    else if (owner.isTerminated === true) this.#terminate(socket, (inner) => router.serveConnection(inner, owner));
    else router.serveConnection(socket, owner);
  }

  #terminate(socket: Socket, serve: (inner: Socket) => void): void {
    const { clock } = this.#deps;
    const options = { certificates: this.#certificates, clock, limitMs: HANDSHAKE_TIMEOUT_MS };
    terminateTls(socket, options, (inner) => this.#guard(socket, () => serve(inner)));
  }

  /** Sets the context for clients without a server name, which is the server's own. */
  setDefault(certPem: string, keyPem: string): void {
    if (this.#server instanceof https.Server)
      this.#server.setSecureContext({ cert: certPem, key: keyPem, minVersion: 'TLSv1.2' });
  }
}

/**
 * Whether an upgrade is forwarded. Upgrades to HTTP/2 are deprecated (RFC 9113, 3.1) and would bypass the routes; a request with
 * a body is treated as an ordinary one.
 */
function switches(message: http.IncomingMessage): boolean {
  return !/\bh2c\b/i.test(message.headers.upgrade ?? '') && !hasBody(message);
}
