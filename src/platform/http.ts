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
  /** Values of the subject's attribute 1.3.6.1.4.1.57683.2, a permanent identifier of the user. Absent: none. */
  readonly uids?: readonly string[];
  /** SHA-256 of the DER form, hexadecimal. */
  readonly fingerprint256: string;
  /**
   * The same of the trusted authority that issued it. Absent when an intermediate authority, sent by the peer, issued
   * it.
   */
  readonly authorityFingerprint256?: string;
  /** Whether the server's present authorities trust it. Absent: they never change. */
  readonly isTrusted?: () => boolean;
  /** When the certificate or the authority expires, in wall-clock milliseconds. Servers ignore expired ones. */
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
  /** The separate values of a header (lower-case name), one per line; `headers` has them joined. */
  headerLines(name: string): readonly string[];
  readonly remoteAddress: string;
  /** Present only when the peer's certificate was verified against the server's client CA and has not expired. */
  readonly peerCertificate?: PeerCertificate;
  /**
   * Whether the peer's certificate was not verified or has expired: its requests are refused rather than treated as
   * anonymous.
   */
  readonly refusedCertificate?: boolean;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
  /** True over HTTP/2, where a connection carries several requests at a time. */
  readonly isHttp2?: boolean;
  /** True when the request asks to switch protocols. */
  readonly wantsUpgrade: boolean;
  /** The whole body. Rejects with a `BodyTooLargeError` above `limitBytes`, and like the gate. */
  readBody(limitBytes: number, gate?: BodyGate): Promise<Uint8Array>;
  /** The body as it arrives, for proxying. Use this or `readBody`, once. */
  bodyStream(): AsyncIterable<Uint8Array>;
}

/** Delays the reading of a body of unknown length. */
export interface BodyGate {
  /** The most bytes that are read without a call of `pass`. */
  readonly freeBytes: number;
  /** Called once. Reading pauses until it resolves and fails if it rejects. */
  pass(): Promise<void>;
}

/**
 * The response's headers; array values are sent as several lines. `connection: close` ends the connection, also with
 * HTTP/2.
 */
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
      /** Called instead of `accept` when the connection is gone: releases what was opened for it. */
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

/** The client disconnected or violated the protocol before the body was complete. */
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
  /** Lower case, may be `*.example.com`; empty: the names in the certificate. */
  readonly names: readonly string[];
}

export interface ListenOptions {
  readonly host: string;
  /** 0 chooses a free port. */
  readonly port: number;
  /** Whether other processes may listen on the port too; the kernel distributes connections. Default false. */
  readonly sharesPort?: boolean;
  /** Plain HTTP when absent. */
  readonly tls?: {
    readonly certPem: string;
    readonly keyPem: string;
    /** Client certificates are requested (not required) and verified against these. */
    readonly clientCaPem?: string;
    /** Offer HTTP/2 by ALPN. Default true. */
    readonly http2?: boolean;
    /** Concurrent streams per HTTP/2 connection. Default 250. */
    readonly http2MaxStreams?: number;
    /** Certificates for clients that ask for these names. */
    readonly sni?: readonly SniCertificate[];
    /** Default 1.2. */
    readonly minVersion?: 'TLSv1.2' | 'TLSv1.3';
    /** Cipher suites by OpenSSL's names, in order of preference. Default: the runtime's. */
    readonly ciphers?: readonly string[];
  };
}

/** The server's certificates, and the authority of its clients. */
export interface ServedCertificates {
  readonly certPem: string;
  readonly keyPem: string;
  readonly clientCaPem?: string | undefined;
  /** Only for servers that started with some. */
  readonly sni?: readonly SniCertificate[] | undefined;
}

/** A listening server. */
export interface HttpServer {
  readonly port: number;
  /**
   * Replaces the certificates for new connections; absent ones are kept. Throws for invalid ones and then changes
   * nothing.
   */
  setCertificate(certificates: ServedCertificates): void;
  /**
   * Stops accepting, aborts requests that still run after `graceMs`, and closes. After several calls the shortest
   * time counts.
   */
  close(graceMs: number): Promise<void>;
}

/** Opens listening servers. Rejects with Node's code (EADDRINUSE, EACCES …). */
export type ListenHttp = (options: ListenOptions, handler: HttpHandler) => Promise<HttpServer>;
