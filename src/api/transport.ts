/**
 * How an API request travels inside a process: the shape shared by the API server's handler, the HTTP adapter before it
 * and the in-process transport of the client. In-process callers pass and receive immutable objects through the same
 * filters; network callers pass and receive bytes.
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

/** The request's body: bytes from the network, or an object from inside the process (never mutated by the server). */
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
  /** Raw path without query. */
  readonly path: string;
  /** Raw query without `?`. */
  readonly query: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The values of a header apart, one per line it was sent in. Absent where each was sent in one (`headerLines`). */
  readonly headerLines?: ((name: string) => readonly string[]) | undefined;
  readonly remoteAddress: string;
  readonly peerCertificate?: PeerCertificate;
  /** The client's certificate was not verified, or has expired. */
  readonly refusedCertificate?: boolean;
  /** Set by the in-process transport only: authentication is skipped, authorization is not. */
  readonly principal?: Principal;
  /** Set by the in-process transport only: the answer of another request is made of this one, and tells what was refused. */
  readonly isPart?: true | undefined;
  /** True: the caller takes `object` and `watch` results instead of bytes. */
  readonly wantsObjects: boolean;
  readonly wantsUpgrade: boolean;
  readonly body: ApiBody;
  /** Reads and writes YAML off the loop. Absent: on it. */
  readonly yaml?: YamlCodec;
  /** Lets other work run. Absent: nobody waits for the loop. */
  readonly pause?: () => Promise<void>;
  /** Called before work that may take milliseconds; a promise must be awaited. Absent: the caller does not share the event loop. */
  readonly turn?: () => Promise<void> | undefined;
  readonly signal: AbortSignal;
}

/** The values of a header, of which some may have commas in them. */
export function headerLines(request: ApiRequest, name: string): readonly string[] {
  const value = request.headers[name];
  return value === undefined ? [] : (request.headerLines?.(name) ?? [value]);
}

/** An event of an in-process watch. `object` is immutable; for ERROR it is a Status. */
export interface ObjectEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: unknown;
}

/** Headers to send. */
export type ApiHeaders = Readonly<Record<string, string | readonly string[]>>;

/** One API response. Errors are `object`/`bytes` with a Status. */
export type ApiResponse =
  | { readonly kind: 'object'; readonly status: number; readonly headers: ApiHeaders; readonly object: unknown }
  /** Batches arrive whole commit by whole commit; ends when the server ends the watch; `return()` stops it. */
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
  /** One of the two is called; `dispose` ends what was opened for a connection that cannot be had. */
  | { readonly kind: 'upgrade'; accept(socket: Duplex): Promise<void>; dispose?(): void };

/** The API server as a function. Never throws. */
export type ApiHandler = (request: ApiRequest) => ApiResponse | Promise<ApiResponse>;
