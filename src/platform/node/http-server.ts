/**
 * Listening servers: HTTP/1.1 and, over TLS and chosen by ALPN, HTTP/2 on one port. Client certificates are requested
 * and verified, never required: the authenticators decide about the user. Slow clients are disconnected by Node's own
 * timeouts.
 */
import * as http from 'node:http';
import * as https from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { type SecureContext, type TLSSocket } from 'node:tls';
import type { BacklogLimits } from '../../base/backlog.ts';
import { AnswerFailures } from './answer-failures.ts';
import { Http1Connections, wantsSwitch } from './http1-connections.ts';
import { Http2Connections } from './http2-connections.ts';
import { contextsByName, readClientCa, verifiedClients, versionsOf, type TlsChoices } from './server-tls.ts';
import type {
  HttpHandler,
  HttpServer,
  ListenHttp,
  ListenOptions,
  ServedCertificates,
  SniCertificate,
} from '../http.ts';
import type { Log } from '../log.ts';
import { background } from '../unexpected.ts';
import { ConnectionCount, type ConnectionLimits } from '../../base/connection-count.ts';
import { ownConnectionLimits } from './connection-limits.ts';
import { flowOf } from './client-flow.ts';
import { queueHandshakes } from './queued-handshakes.ts';
import { plainAddress } from './http1.ts';
import { readThrottle } from './read-throttle.ts';
import { contextOf } from './sni.ts';
import { type ClientTrust, verifyPeerBy } from './tls.ts';
import { UnsentAnswers } from './unsent-answers.ts';

/** Upstream's limit for idle connections (HTTP/2: `http2-sessions.ts`). */
const IDLE_TIMEOUT_MS = 90_000;
/** Upstream's ReadHeaderTimeout, and Go's limit of a TLS handshake. */
const HEAD_TIMEOUT_MS = 32_000;
const HANDSHAKE_TIMEOUT_MS = 10_000;
/** How often Node.js checks for late heads. Each check wakes an idle process. */
const CHECK_EVERY_MS = 16_000;
/** Request line and headers together; selectors in queries grow long. */
const MAX_HEADER_BYTES = 64 * 1024;

/** Opens servers; see `ListenHttp`. An error in a response is logged and ends only that response. */
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

class Listener implements HttpServer {
  readonly #log: Log;
  readonly #server: http.Server | https.Server;
  readonly #tls: TlsChoices;
  #clientCaPem: string | undefined;
  readonly #trust: ClientTrust = { authorities: [] };
  #sni: readonly SniCertificate[];
  #named: ReadonlyMap<string, SecureContext> = new Map();
  #closed: Promise<void> | undefined;
  readonly #sockets = new Set<Socket>();
  readonly #http1: Http1Connections;
  readonly #http2: Http2Connections;
  readonly #connections: ConnectionCount;

  constructor(
    options: ListenOptions,
    handler: HttpHandler,
    config: { readonly log: Log; readonly limits: ConnectionLimits; readonly backlog?: BacklogLimits | undefined },
  ) {
    this.#log = config.log;
    this.#connections = new ConnectionCount(config.limits);
    const unsent = new UnsentAnswers(config.backlog);
    const failures = new AnswerFailures(config.log);
    this.#http1 = new Http1Connections(handler, failures, unsent);
    this.#http2 = new Http2Connections(handler, failures, unsent, options.tls?.http2MaxStreams);
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
    this.#server.on('request', (message, response) => this.#http1.onRequest(message, response));
    this.#server.on('upgrade', (message, socket, head) => {
      background(this.#log, 'an upgrade could not be answered', this.#http1.onUpgrade(message, socket as Socket, head));
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
        // A connection that could not be accepted: the others continue.
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
    if (!(this.#server instanceof https.Server)) readThrottle.add(socket, plainAddress(remoteAddress));
    socket.once('close', () => {
      this.#sockets.delete(socket);
      this.#connections.leave(remoteAddress);
    });
  }

  async close(graceMs: number): Promise<void> {
    this.#closed ??= new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#http2.close();
    // A connection becomes idle when its last request ends, and would otherwise stay for its keep-alive time.
    const sweep = setInterval(() => this.#server.closeIdleConnections(), 20);
    const deadline = setTimeout(() => this.#abortAll(), graceMs);
    await this.#closed;
    clearInterval(sweep);
    clearTimeout(deadline);
  }

  #abortAll(): void {
    this.#http2.destroy();
    for (const socket of this.#sockets) socket.destroy();
  }

  #createTls(limits: https.ServerOptions, tls: NonNullable<ListenOptions['tls']>): https.Server {
    const http2 = tls.http2 ?? true;
    this.#trust.authorities = readClientCa(tls.clientCaPem);
    this.#named = contextsByName(tls, this.#sni, tls.clientCaPem);
    const answerName: https.ServerOptions['SNICallback'] = (name, callback) =>
      callback(null, contextOf(this.#named, name));
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
    server.prependListener('secureConnection', (socket: TLSSocket) => readThrottle.add(socket, flowOf(socket)));
    if (tls.clientCaPem !== undefined)
      server.prependListener('secureConnection', (socket: TLSSocket) => verifyPeerBy(socket, this.#trust));
    queueHandshakes(server, HANDSHAKE_TIMEOUT_MS);
    if (!http2) return server;
    // Does the work of http2.createSecureServer({ allowHTTP1 }), without its compatibility objects for every HTTP/2 stream.
    const startHttp1 = server.listeners('secureConnection').at(-1) as (socket: TLSSocket) => void;
    server.off('secureConnection', startHttp1);
    server.on('secureConnection', (socket: TLSSocket) => {
      if (socket.alpnProtocol === 'h2') this.#http2.start(socket);
      else startHttp1.call(server, socket);
    });
    return server;
  }
}
