/**
 * The network port at the level that Keelson uses: an HTTP(S) server, an HTTP(S) client, raw streams and datagrams.
 * Simulations replace everything above sockets: simulated components open none.
 */
import type { Duplex } from './streams.ts';

/** PEM texts for one end of a TLS connection. */
export interface TlsOptions {
  readonly certPem?: string;
  readonly keyPem?: string;
  /** Certificate authorities to trust. */
  readonly caPem?: string;
  /** Verifies the peer's name against this instead of the dialled host. */
  readonly serverName?: string;
  /** Skips verification of the peer. */
  readonly insecureSkipVerify?: boolean;
}

/** A plain or TLS stream connection. */
export interface Dial {
  readonly host?: string;
  readonly port?: number;
  readonly unixPath?: string;
  readonly tls?: TlsOptions;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** One HTTP exchange from the client's side. Redirects are not followed. */
export interface HttpCall {
  readonly method: string;
  readonly url: string;
  /** Sent through this unix socket instead of the URL's host. */
  readonly unixPath?: string;
  /** A list is sent as that many lines. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** Chunks are sent as they come, with the headers' `content-length` if there is one. */
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>;
  readonly tls?: TlsOptions;
  /** The time limit of the whole exchange, including the response's body, like the timeout of Go's http.Client. */
  readonly timeoutMs?: number;
  /**
   * The time limit of the response's head only: the body may take any time, as that of a watch, or its reader limits
   * it.
   */
  readonly headTimeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** The answer; read `body` to its end or cancel it. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Cookies, which must not be joined to one line. */
  readonly setCookie?: readonly string[];
  readonly body: AsyncIterable<Uint8Array>;
  /** Drops the rest of the body and the connection. */
  cancel(): void;
}

/** A switched connection after `101 Switching Protocols`. */
export interface HttpUpgrade {
  readonly status: 101;
  readonly headers: Readonly<Record<string, string>>;
  readonly socket: Duplex;
}

/** Dialling out. Servers are made by `platform/node` adapters of the API server and kubelet. */
export interface Net {
  dial(target: Dial): Promise<Duplex>;
  /** Resolves with the answer's head. Rejects on connection errors with Node's codes (ECONNREFUSED …) or on abort. */
  http(call: HttpCall): Promise<HttpAnswer>;
  /** Asks for an upgrade; resolves with the plain answer when the peer refuses. */
  upgrade(call: HttpCall): Promise<HttpUpgrade | HttpAnswer>;
  /**
   * All addresses of a name, as dialling would find them. Rejects with Node's codes (ENOTFOUND …) when there are
   * none.
   */
  lookup(host: string): Promise<readonly string[]>;
  /** Addresses of this host's interfaces. */
  interfaces(): readonly {
    readonly name: string;
    readonly address: string;
    readonly family: 4 | 6;
    readonly internal: boolean;
    readonly cidr: string;
  }[];
}
