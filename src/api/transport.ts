/**
 * An API request inside a process: the type that the API server's handler, the HTTP adapter in front of it and the client's
 * in-process transport share. In-process callers pass and receive immutable objects through the same filters; network callers
 * pass and receive bytes.
 */
import type { ByteSink, Duplex } from '../platform/streams.ts';
import type { BodyGate, PeerCertificate } from '../platform/http.ts';
import type { YamlCodec } from './codec/yaml-codec.ts';

/** The user who sends a request. Upstream: user.Info. */
export interface Principal {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** The request's body: bytes from the network, or an object from inside the process (which the server never mutates). */
export type ApiBody =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'bytes';
      read(limitBytes: number, gate?: BodyGate): Promise<Uint8Array>;
      stream(): AsyncIterable<Uint8Array>;
    }
  | { readonly kind: 'object'; readonly object: unknown };

export interface ApiRequest {
  readonly method: string;
  /** The raw path without the query. */
  readonly path: string;
  /** The raw query without `?`. */
  readonly query: string;
  /** Headers by lower-case name. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The values of a header, one per line in which it was sent. Absent when every header was sent in one line (`headerLines`). */
  readonly headerLines?: ((name: string) => readonly string[]) | undefined;
  readonly remoteAddress: string;
  readonly peerCertificate?: PeerCertificate;
  /** Set when the client's certificate could not be verified, or has expired. */
  readonly refusedCertificate?: boolean;
  /** Set by the in-process transport only: authentication is skipped, authorization is not. */
  readonly principal?: Principal;
  /**
   * Set only by the in-process transport when the response becomes part of another request's response. Then errors name the
   * refused resource.
   */
  readonly isPart?: true | undefined;
  /** The caller accepts `object` and `watch` results instead of bytes. */
  readonly wantsObjects: boolean;
  readonly wantsUpgrade: boolean;
  readonly body: ApiBody;
  /** Reads and writes YAML outside the event loop's thread. Absent: on the event loop. */
  readonly yaml?: YamlCodec;
  /** Lets other work run. Absent when no other work shares the event loop. */
  readonly pause?: () => Promise<void>;
  /**
   * Called before work that may take milliseconds; the caller awaits a returned promise. Absent when the caller does not share
   * the event loop.
   */
  readonly turn?: () => Promise<void> | undefined;
  readonly signal: AbortSignal;
}

/** The values of a header, one per line, because a value may contain commas. */
export function headerLines(request: ApiRequest, name: string): readonly string[] {
  const value = request.headers[name];
  return value === undefined ? [] : (request.headerLines?.(name) ?? [value]);
}

/** An event of an in-process watch. `object` is immutable; in ERROR events it is a Status. */
export interface ObjectEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: unknown;
}

/** The annotation of the bookmark that ends the objects with which a watch begins. */
export const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';

/** Headers to send. */
export type ApiHeaders = Readonly<Record<string, string | readonly string[]>>;

/** One API response. Errors are `object` or `bytes` with a Status. */
export type ApiResponse =
  | { readonly kind: 'object'; readonly status: number; readonly headers: ApiHeaders; readonly object: unknown }
  /** Each batch contains whole commits. The iteration ends when the server ends the watch; `return()` stops it. */
  | {
      readonly kind: 'watch';
      readonly status: 200;
      readonly headers: ApiHeaders;
      readonly events: AsyncIterable<readonly ObjectEvent[]>;
    }
  | {
      readonly kind: 'bytes';
      readonly status: number;
      readonly headers: ApiHeaders;
      readonly chunks: readonly Uint8Array[];
    }
  | {
      readonly kind: 'stream';
      readonly status: number;
      readonly headers: ApiHeaders;
      run(sink: ByteSink): Promise<void>;
    }
  /** One of the two is called. `dispose` ends what was opened for a connection that could not be established. */
  | { readonly kind: 'upgrade'; accept(socket: Duplex): Promise<void>; dispose?(): void };

/** The API server as a function. Never throws. */
export type ApiHandler = (request: ApiRequest) => ApiResponse | Promise<ApiResponse>;
