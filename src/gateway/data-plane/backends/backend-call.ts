/** The contract of a request to one endpoint of a backend. */
import type { Readable } from 'node:stream';
import type { Backend, Endpoint } from '../../snapshot/snapshot.ts';
import type { HeaderLines } from '../header-lines.ts';

export interface BackendRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly authority: string;
  /** Headers without `host`. */
  readonly headers: HeaderLines;
  readonly hasBody: boolean;
  readonly takesTrailers: boolean;
  /** Sends the body once there is a connection. Not called for a request without a body. */
  sendBody(target: BodyTarget): void;
}

/** The receiver of a request's body. */
export interface BodyTarget {
  write(chunk: Buffer): boolean;
  onDrain(callback: () => void): void;
  end(trailers: HeaderLines): void;
}

export interface BackendAnswer {
  readonly status: number;
  readonly headers: HeaderLines;
  readonly hasBody: boolean;
  readonly body: Readable;
  /** The trailers, once the body has ended. */
  trailers(): HeaderLines;
  /** HTTP/2's error code, once the body has failed. */
  errorCode(): number | undefined;
}

/** A request in progress. */
export interface BackendCall {
  readonly answer: Promise<BackendAnswer>;
  cancel(): void;
}

/** Sends requests to endpoints by one protocol. */
export interface Connector {
  call(endpoint: Endpoint, request: BackendRequest, backend: Backend): BackendCall;
  /** Ends all connections and the requests on them. */
  close(): void;
}

/** The error when nothing of the request has reached the endpoint: any request may be sent to another endpoint. */
export class NotSentError extends Error {
  constructor(cause: unknown) {
    super('the endpoint cannot be reached', { cause });
    this.name = 'NotSentError';
  }
}

/** The error when an idle connection ended before the response began: idempotent requests may be sent again. */
export class StaleConnectionError extends Error {
  constructor(cause: unknown) {
    super('the connection had ended', { cause });
    this.name = 'StaleConnectionError';
  }
}

export const CONNECT_TIMEOUT_MS = 5_000;
