/**
 * Listening servers: HTTP/1.1 and, over TLS and chosen by ALPN, HTTP/2 on one port. Client certificates are asked for and
 * verified, never required: who the peer is, the authenticators decide. Slow clients are cut off by Node's own timeouts.
 */
import { X509Certificate } from 'node:crypto';
import * as http from 'node:http';
import * as https from 'node:https';
import { performServerHandshake, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
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
import { Http1Request, sendHttp1 } from './http1.ts';
import { Http2Request, sendHttp2 } from './http2.ts';
import { certificatesByName, contextOf } from './sni.ts';
import { duplexOf } from './streams.ts';

/** Upstream's limits: connections idle for 90 s close; 250 streams per HTTP/2 connection. */
const idleTimeoutMs = 90_000;
const defaultMaxStreams = 250;
/** Request line and headers together; selectors in queries grow long. */
const maxHeaderBytes = 64 * 1024;

const brokenHandler: HttpResponse = {
  kind: 'bytes',
  status: 500,
  headers: { 'content-type': 'text/plain; charset=utf-8' },
  chunks: [Buffer.from('Internal Server Error\n')],
};

/** Opens a server; see `ListenHttp`. */
export const listenHttp: ListenHttp = async (options, handler) => {
  const server = new Listener(options, handler);
  await server.listen(options);
  return server;
};

const TLS13_SUITES = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];

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
  readonly #server: http.Server | https.Server;
  readonly #tls: TlsChoices;
  #clientCaPem: string | undefined;
  #sni: readonly SniCertificate[];
  #named: ReadonlyMap<string, SecureContext> = new Map();
  #closed: Promise<void> | undefined;
  readonly #sockets = new Set<Socket>();
  readonly #sessions = new Set<ServerHttp2Session>();

  constructor(options: ListenOptions, handler: HttpHandler) {
    this.#handler = handler;
    this.#clientCaPem = options.tls?.clientCaPem;
    this.#tls = options.tls ?? {};
    this.#sni = options.tls?.sni ?? [];
    const limits = {
      keepAliveTimeout: idleTimeoutMs,
      maxHeaderSize: maxHeaderBytes,
      shouldUpgradeCallback: wantsSwitch,
    };
    this.#server = options.tls === undefined ? http.createServer(limits) : this.#createTls(limits, options.tls);
    this.#server.on('request', (message, response) => this.#onRequest(message, response));
    this.#server.on('upgrade', (message, socket, head) => this.#onUpgrade(message, socket as Socket, head));
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  listen({ host, port, sharesPort = false }: ListenOptions): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host, port, backlog: 1024, ...(sharesPort && { reusePort: true }) }, () => {
        this.#server.off('error', reject);
        resolve();
      });
    });
  }

  setCertificate({ certPem, keyPem, clientCaPem = this.#clientCaPem, sni = this.#sni }: ServedCertificates): void {
    if (!(this.#server instanceof https.Server)) throw new Error('a plain HTTP server has no certificate');
    if (certPem === '' || keyPem === '') throw new Error('an empty certificate or key cannot be served');
    checkClientCa(clientCaPem);
    const isSame = clientCaPem === this.#clientCaPem && sni === this.#sni;
    const named = isSame ? this.#named : contextsByName(this.#tls, sni, clientCaPem);
    this.#server.setSecureContext({ cert: certPem, key: keyPem, ca: clientCaPem, ...versionsOf(this.#tls) });
    [this.#named, this.#sni, this.#clientCaPem] = [named, sni, clientCaPem];
  }

  async close(graceMs: number): Promise<void> {
    this.#closed ??= new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const session of this.#sessions) session.close();
    // A connection becomes idle when its last request ends, and would then stay for its keep-alive time.
    const sweep = setInterval(() => this.#server.closeIdleConnections(), 20);
    const deadline = setTimeout(() => this.#abortAll(), graceMs);
    await this.#closed;
    clearInterval(sweep);
    clearTimeout(deadline);
  }

  #abortAll(): void {
    for (const session of this.#sessions) session.destroy();
    for (const socket of this.#sockets) socket.destroy();
  }

  #createTls(limits: https.ServerOptions, tls: NonNullable<ListenOptions['tls']>): https.Server {
    const http2 = tls.http2 ?? true;
    checkClientCa(tls.clientCaPem);
    this.#named = contextsByName(tls, this.#sni, tls.clientCaPem);
    const answerName: https.ServerOptions['SNICallback'] = (name, tell) => tell(null, contextOf(this.#named, name));
    const server = https.createServer({
      ...limits,
      ...(this.#sni.length > 0 && { SNICallback: answerName }),
      cert: tls.certPem,
      key: tls.keyPem,
      ca: tls.clientCaPem,
      requestCert: tls.clientCaPem !== undefined,
      rejectUnauthorized: false,
      ...versionsOf(tls),
      ALPNProtocols: http2 ? ['h2', 'http/1.1'] : ['http/1.1'],
    });
    if (!http2) return server;
    // What http2.createSecureServer({ allowHTTP1 }) does, without its compatibility objects for every HTTP/2 stream.
    const [startHttp1] = server.listeners('secureConnection') as ((socket: TLSSocket) => void)[];
    server.removeAllListeners('secureConnection');
    server.on('secureConnection', (socket: TLSSocket) => {
      if (socket.alpnProtocol === 'h2') this.#startHttp2(socket);
      else startHttp1!.call(server, socket);
    });
    return server;
  }

  #startHttp2(socket: TLSSocket): void {
    const maxConcurrentStreams = this.#tls.http2MaxStreams ?? defaultMaxStreams;
    const session = performServerHandshake(socket, { settings: { maxConcurrentStreams }, maxSessionMemory: 64 });
    this.#sessions.add(session);
    session.once('close', () => this.#sessions.delete(session));
    session.on('error', () => undefined); // the streams of the session end with it
    let openStreams = 0;
    session.setTimeout(idleTimeoutMs, () => {
      if (openStreams === 0) session.close(); // a quiet watch is not idle
    });
    session.on('stream', (stream, headers, ...[, lines]) => {
      openStreams++;
      stream.once('close', () => openStreams--);
      stream.on('error', () => undefined); // shows in the request's signal and body
      const request = new Http2Request(stream, { headers, lines, socket });
      const result = this.#handle(request);
      if (result instanceof Promise) void result.then((late) => sendHttp2(stream, request, late));
      else sendHttp2(stream, request, result);
    });
  }

  #onRequest(message: http.IncomingMessage, response: http.ServerResponse): void {
    const result = this.#handle(new Http1Request(message, response));
    if (result instanceof Promise) void result.then((late) => answerHttp1(response, late));
    else answerHttp1(response, result);
  }

  async #onUpgrade(message: http.IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    socket.on('error', () => undefined); // shows in the duplex, or nobody waits for it
    if (head.length > 0) socket.unshift(head);
    const result = await this.#handle(new Http1Request(message, undefined));
    if (socket.destroyed) return void (result.kind === 'upgrade' && result.dispose?.());
    if (result.kind !== 'upgrade') return refuseUpgrade(message, socket, result);
    const duplex = duplexOf(socket);
    try {
      await result.accept(duplex);
    } catch (error) {
      duplex.destroy(error as Error);
    }
  }

  /** A handler must not throw; one that does answers 500 and takes no other request down with it. */
  #handle(request: Http1Request | Http2Request): HttpResponse | Promise<HttpResponse> {
    try {
      const result = this.#handler(request);
      return result instanceof Promise ? result.catch(() => brokenHandler) : result;
    } catch {
      return brokenHandler;
    }
  }
}

/** Throws for certificates that cannot be served. */
function contextsByName(
  tls: TlsChoices,
  sni: readonly SniCertificate[],
  clientCaPem: string | undefined,
): ReadonlyMap<string, SecureContext> {
  const contexts = [...certificatesByName(sni)].map(([name, { certPem: cert, keyPem: key }]) => {
    if (cert === '' || key === '') throw new Error('an empty certificate or key cannot be served');
    return [name, createSecureContext({ cert, key, ca: clientCaPem, ...versionsOf(tls) })] as const;
  });
  return new Map(contexts);
}

/** Node takes '' for no authority of one's own, and trusts the world's public ones then; what is cut off it leaves out. */
function checkClientCa(pem: string | undefined): void {
  if (pem === undefined) return;
  try {
    for (const block of certificateBlocks(pem)) void new X509Certificate(block);
  } catch (error) {
    throw new Error(`unable to load client CA: ${(error as Error).message}`, { cause: error });
  }
}

/** `Upgrade: h2c` is an offer to be ignored, not a wish to leave HTTP. */
function wantsSwitch(message: http.IncomingMessage): boolean {
  return message.headers.upgrade?.toLowerCase() !== 'h2c';
}

function answerHttp1(response: http.ServerResponse, result: HttpResponse): void {
  if (result.kind === 'upgrade') result.dispose?.();
  sendHttp1(response, result.kind === 'upgrade' ? notAnUpgrade : result);
}

const notAnUpgrade = {
  kind: 'bytes',
  status: 400,
  headers: { 'content-type': 'text/plain; charset=utf-8' },
  chunks: [Buffer.from('you must request an upgrade\n')],
} as const satisfies HttpResponse;

function refuseUpgrade(
  message: http.IncomingMessage,
  socket: Socket,
  result: Exclude<HttpResponse, { kind: 'upgrade' }>,
): void {
  const response = new http.ServerResponse(message);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  response.once('finish', () => socket.end());
  sendHttp1(response, result);
}
