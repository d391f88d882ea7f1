/**
 * What the filters know about a request before the resource handler. Upstream: request.RequestInfo plus
 * authorizer.Attributes.
 */
import type { Principal } from '../api/transport.ts';
import type { RequestTrace } from './tracing/request-trace.ts';

/** Verbs of the API as authorization and admission name them. */
export type ApiVerb =
  | 'get'
  | 'list'
  | 'watch'
  | 'create'
  | 'update'
  | 'patch'
  | 'delete'
  | 'deletecollection'
  | 'proxy'
  /** For methods without a verb, which nothing serves. */
  | ''
  /** Non-resource requests have the lower-case HTTP method instead. */
  | 'head'
  | 'post'
  | 'put'
  | 'options';

/** Parsed path and verb. */
export interface RequestInfo {
  readonly isResourceRequest: boolean;
  readonly path: string;
  readonly verb: ApiVerb;
  readonly apiGroup: string;
  readonly apiVersion: string;
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  /** The decoded path below the sub-resource, for proxies. */
  readonly rest: string;
  /** Whether the deprecated `watch/` prefix was used. Its selectors are not authorized, as upstream. */
  readonly viaWatchPath?: boolean;
  /** The requested view of the object. Keelson's own: `object-views.ts`. */
  readonly view?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/** Longer bodies and objects are handled in steps, between which other requests get a turn. */
export const LARGE_BYTES = 64 * 1024;

/** One request in progress. */
export interface RequestContext {
  readonly info: RequestInfo;
  readonly user: Principal;
  readonly signal: AbortSignal;
  readonly userAgent: string;
  /** Warnings to send as headers; append with `addWarning`. */
  addWarning(text: string): void;
  /** Notes a fact for the audit event, under upstream's keys; the first value of a key stays. */
  addAuditAnnotation(key: string, value: string): void;
  /** Records what the request waited for and how long, for the report if it is refused later. */
  addWait?(name: string, milliseconds: number): void;
  /** Whether the body, or the object it changes, is so long that each step of the work takes milliseconds. */
  isLarge?: boolean;
  /** Records the parts of the work, where the request is traced. */
  readonly trace?: RequestTrace | undefined;
  /** Lets other requests run between two steps of work on a large object. */
  pause?(): Promise<void> | undefined;
  /**
   * The same for work of this request alone: rejects when its time is over or its client has disconnected, like a
   * cancelled context in Go.
   */
  nextStep?(): Promise<void> | undefined;
}
