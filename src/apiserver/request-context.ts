/**
 * What the filters learn about a request before a resource handler sees it. Upstream: request.RequestInfo plus
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
  /** A method that means no verb: nothing serves it. */
  | ''
  /** Non-resource requests carry the lower-case HTTP method instead. */
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
  /** Path below the sub-resource, decoded: for proxy. */
  readonly rest: string;
  /** The deprecated `watch/` prefix made it a watch. Its selectors are not authorized, as upstream. */
  readonly viaWatchPath?: boolean;
  /** What is asked for of the object, other than the object itself. Keelson's own: `object-views.ts`. */
  readonly view?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/** Longer bodies and objects are worked on in steps, between which others have their turn. */
export const LARGE_BYTES = 64 * 1024;

/** One request while it is being served. */
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
  /** The request's body, or the object it changes, is so long that each step of the work on it takes milliseconds. */
  isLarge?: boolean;
  /** Takes down the parts of the work, where somebody wants to know. */
  readonly trace?: RequestTrace | undefined;
  /** Lets other work run, between two steps of the work on a large object. */
  pause?(): Promise<void> | undefined;
}
