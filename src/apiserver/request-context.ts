/**
 * What the filters learn about a request before a resource handler sees it. Upstream: request.RequestInfo plus
 * authorizer.Attributes.
 */
import type { Principal } from '../api/transport.ts';

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
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

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
}
