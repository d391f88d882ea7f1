/** A request to one endpoint of a backend. */
import type { Readable } from 'node:stream';
import type { Backend, Endpoint } from '../../snapshot/snapshot.ts';
import type { HeaderLines } from '../header-lines.ts';

export interface BackendRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly authority: string;
  /** Without host. */
  readonly headers: HeaderLines;
  readonly hasBody: boolean;
  readonly takesTrailers: boolean;
  /** Carries the body over, once there is a connection to send it on. Not called for a request without one. */
  sendBody(target: BodyTarget): void;
}

/** Where a request's body goes. */
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
  /** Once the body has ended. */
  trailers(): HeaderLines;
  /** HTTP/2's error code, once the body has failed. */
  errorCode(): number | undefined;
}

/** A request under way. */
export interface BackendCall {
  readonly answer: Promise<BackendAnswer>;
  cancel(): void;
}

/** How to reach endpoints of one protocol. */
export interface Connector {
  call(endpoint: Endpoint, request: BackendRequest, backend: Backend): BackendCall;
  /** Ends all connections, and the requests on them. */
  close(): void;
}

/** Nothing of the request has reached the endpoint: another one may be asked, whatever the request is. */
export class NotSentError extends Error {
  constructor(cause: unknown) {
    super('the endpoint cannot be reached', { cause });
    this.name = 'NotSentError';
  }
}

/** A connection that had been idle ended before any of the answer came: what has no effect twice may be sent again. */
export class StaleConnectionError extends Error {
  constructor(cause: unknown) {
    super('the connection had ended', { cause });
    this.name = 'StaleConnectionError';
  }
}

/** How long a connection may take. */
export const CONNECT_TIMEOUT_MS = 5_000;
