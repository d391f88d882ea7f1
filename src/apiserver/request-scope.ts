/** One request as the handlers see it: the contract's context with the query, the body and the warnings. */
import type { ApiHeaders, ApiRequest, Principal } from '../api/transport.ts';
import type { BodyGate } from '../platform/http.ts';
import type { PassedPart } from '../component-helpers/refused-request.ts';
import type { Place } from './filters/place.ts';
import type { RequestContext, RequestInfo } from './request-context.ts';
import type { RequestTrace } from './tracing/request-trace.ts';

/** Records one request for the audit log. */
export interface RequestRecorder {
  /** The answer's Audit-Id. */
  readonly auditId: string;
  /** The decoded body, or the patch; it is copied. */
  takeRequestObject(value: unknown): void;
  /** Records that the request goes on as another user; `constraint`: the verb of the constrained impersonation. */
  impersonates(user: Principal, constraint?: string): void;
  /** Resolves when the audit backend has the event and the request may go on; rejects when it may not. */
  written(): Promise<unknown> | undefined;
}

/** Further warnings are dropped: the headers of an answer have no room for more, however short they are. */
const MAX_WARNINGS = 4096;

export class RequestScope implements RequestContext {
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  readonly params: URLSearchParams;
  /** The anonymous user until authentication, another user after impersonation. */
  user: Principal;
  /** The user that impersonates `user`; undefined without impersonation. */
  impersonator: Principal | undefined;
  /** When the request was received, on the monotonic clock. */
  readonly receivedMs: number;
  readonly warnings: string[] = [];

  isLarge = false;

  /** Where the body waits once it turns out large; undefined where its length is known. */
  bodyGate: BodyGate | undefined;

  /** How long the request may take; undefined for unlimited requests, and until the deadline filter has run. */
  timeoutMs: number | undefined;

  /** Its share of the requests that may be served at once; undefined for requests that are not counted. */
  place: Place | undefined;

  /** How long the request waited in a queue of priority and fairness. */
  waitedMs = 0;

  /** Other waiting time of the request by part; created with the first wait. */
  waits: PassedPart[] | undefined;

  /** Annotations of the audit event; created with the first one. */
  auditAnnotations: Map<string, string> | undefined;

  /** The audit recorder, for requests that are recorded. */
  audited: RequestRecorder | undefined;

  trace: RequestTrace | undefined;

  /** Headers that name the flow schema and priority level; set where requests are classified. */
  flowHeaders: ApiHeaders | undefined;

  constructor(parts: {
    request: ApiRequest;
    info: RequestInfo;
    params: URLSearchParams;
    user: Principal;
    receivedMs?: number;
  }) {
    this.request = parts.request;
    this.info = parts.info;
    this.params = parts.params;
    this.user = parts.user;
    this.receivedMs = parts.receivedMs ?? 0;
  }

  pause(): Promise<void> | undefined {
    return this.request.pause?.();
  }

  turn(): Promise<void> | undefined {
    return this.request.turn?.();
  }

  /** Waits for work of other processes (webhooks, kubelets) without holding the request's place. */
  waitFor<T>(waiting: Promise<T>): Promise<T> {
    return this.place === undefined ? waiting : this.place.waitFor(waiting);
  }

  get signal(): AbortSignal {
    return this.request.signal;
  }

  get userAgent(): string {
    return this.request.headers['user-agent'] ?? '';
  }

  addWarning(text: string): void {
    if (this.warnings.length < MAX_WARNINGS && !this.warnings.includes(text)) this.warnings.push(text);
  }

  addWait(name: string, milliseconds: number): void {
    (this.waits ??= []).push({ name, milliseconds });
  }

  addAuditAnnotation(key: string, value: string): void {
    this.auditAnnotations ??= new Map();
    if (!this.auditAnnotations.has(key)) this.auditAnnotations.set(key, value);
  }
}
