/**
 * The HTTP server port. A handler is a function from request to response without node:http; `platform/node` adapts it to
 * HTTP/1.1 and HTTP/2 over TLS, simulation calls it directly. Handlers that can answer at once return without a promise:
 * the hot path of a GET costs no extra turn of the loop.
 */
import type { ByteSink, Duplex } from './streams.ts';

/** The verified client certificate of a TLS peer. */
export interface PeerCertificate {
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** Values of the subject's attribute 1.3.6.1.4.1.57683.2, which identifies a user for good. Absent: none. */
  readonly uids?: readonly string[];
  /** SHA-256 of the DER form, hexadecimal. */
  readonly fingerprint256: string;
  /** The same of the trusted authority that issued it. Absent: one between, which the peer brought along, did. */
  readonly authorityFingerprint256?: string;
  /** Whether the server's authorities, which may change, vouch for it now. Absent: they never change. */
  readonly isTrusted?: () => boolean;
  /** When it or that authority ends, wall-clock milliseconds. Servers leave expired ones out of their requests. */
  readonly expiresAtMs?: number;
}

/** One request. Header names are lower case. */
export interface HttpRequest {
  readonly method: string;
  /** The raw path, still percent-encoded, without the query. */
  readonly path: string;
  /** The raw query without `?`; '' when there is none. */
  readonly query: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The values of a header (lower-case name) apart, one per line it was sent in; `headers` has them joined. */
  headerLines(name: string): readonly string[];
  readonly remoteAddress: string;
  /** Present only when the peer's certificate was verified against the server's client CA and has not expired. */
  readonly peerCertificate?: PeerCertificate;
  /** The peer gave a certificate that was not verified, or has expired: it is nobody rather than anonymous. */
  readonly refusedCertificate?: boolean;
  /** Aborts when the client goes away. */
  readonly signal: AbortSignal;
  /** True over HTTP/2, where a connection carries several requests at a time. */
  readonly isHttp2?: boolean;
  /** True when the request asks to switch protocols. */
  readonly wantsUpgrade: boolean;
  /** The whole body. Rejects with a `BodyTooLargeError` past `limitBytes`, and as the gate does. */
  readBody(limitBytes: number, gate?: BodyGate): Promise<Uint8Array>;
  /** The body as it arrives, for proxying. Use this or `readBody`, once. */
  bodyStream(): AsyncIterable<Uint8Array>;
}

/** Where the reading of a body waits whose length is not known. */
export interface BodyGate {
  /** The most bytes that are read without a call of `pass`. */
  readonly freeBytes: number;
  /** Called once. Nothing more is read until it resolves; when it rejects, so does the reading. */
  pass(): Promise<void>;
}

/** The response head's headers; array values are sent as several lines. `connection: close` ends it, over HTTP/2 too. */
export type HttpHeaders = Readonly<Record<string, string | readonly string[]>>;

export type HttpResponse =
  | {
      readonly kind: 'bytes';
      readonly status: number;
      readonly headers: HttpHeaders;
      readonly chunks: readonly Uint8Array[];
    }
  | {
      readonly kind: 'stream';
      readonly status: number;
      readonly headers: HttpHeaders;
      run(sink: ByteSink): Promise<void>;
    }
  | {
      /** Takes the raw connection; the handler writes the `101` (or refusal) head itself. HTTP/1.1 only. */
      readonly kind: 'upgrade';
      accept(socket: Duplex): Promise<void>;
      /** Called instead of `accept` where there is no connection to take: ends what was opened for it. */
      dispose?(): void;
    };

/** Answers requests. Must not throw: errors become responses inside. */
export type HttpHandler = (request: HttpRequest) => HttpResponse | Promise<HttpResponse>;

/** The body was larger than the limit given to `readBody`. */
export class BodyTooLargeError extends Error {
  readonly limitBytes: number;

  constructor(limitBytes: number) {
    super(`request body exceeds ${limitBytes} bytes`);
    this.name = 'BodyTooLargeError';
    this.limitBytes = limitBytes;
  }
}

/** The client went away, or broke the protocol, before its body was whole. */
export class BodyBrokenOffError extends Error {
  constructor(cause: unknown) {
    super('the request body broke off', { cause });
    this.name = 'BodyBrokenOffError';
  }
}

/** A certificate for connections that ask for its names. */
export interface SniCertificate {
  readonly certPem: string;
  readonly keyPem: string;
  /** Lower case, `*.example.com` too; empty: those in the certificate. */
  readonly names: readonly string[];
}

export interface ListenOptions {
  readonly host: string;
  /** 0 chooses a free port. */
  readonly port: number;
  /** Lets other processes listen on the port too; the kernel spreads the connections. Default false. */
  readonly sharesPort?: boolean;
  /** Plain HTTP when absent. */
  readonly tls?: {
    readonly certPem: string;
    readonly keyPem: string;
    /** Client certificates are asked for (not required) and verified against these. */
    readonly clientCaPem?: string;
    /** Offer HTTP/2 by ALPN. Default true. */
    readonly http2?: boolean;
    /** Streams at a time on an HTTP/2 connection. Default 250. */
    readonly http2MaxStreams?: number;
    /** Instead of the certificate above where a client asks for these names. */
    readonly sni?: readonly SniCertificate[];
    /** Default 1.2. */
    readonly minVersion?: 'TLSv1.2' | 'TLSv1.3';
    /** Suites by OpenSSL's names, the wanted first. Default: the runtime's. */
    readonly ciphers?: readonly string[];
  };
}

/** What a server shows, and whom it takes for its clients' authority. */
export interface ServedCertificates {
  readonly certPem: string;
  readonly keyPem: string;
  readonly clientCaPem?: string | undefined;
  /** Only where the server began with some. */
  readonly sni?: readonly SniCertificate[] | undefined;
}

/** A listening server. */
export interface HttpServer {
  readonly port: number;
  /** Swaps them for new connections; what is not given stays. Throws for what does not fit, and nothing changes then. */
  setCertificate(certificates: ServedCertificates): void;
  /** Stops accepting, aborts the requests that still run after `graceMs`, closes. Called again, the shorter time counts. */
  close(graceMs: number): Promise<void>;
}

/** Opens listening servers. Rejects with Node's code (EADDRINUSE, EACCES …). */
export type ListenHttp = (options: ListenOptions, handler: HttpHandler) => Promise<HttpServer>;
