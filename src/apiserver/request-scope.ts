/** One request as the handlers see it: the context with the query, the body and the warnings. */
import type { ApiHeaders, ApiRequest, Principal } from '../api/transport.ts';
import type { BodyGate } from '../platform/http.ts';
import type { PassedPart } from '../component-helpers/refused-request.ts';
import type { RequestSlot } from './filters/request-slot.ts';
import type { RequestContext, RequestInfo } from './request-context.ts';
import type { RequestTrace } from './tracing/request-trace.ts';

/** Records one request for the audit log. */
export interface RequestRecorder {
  /** The answer's Audit-Id. */
  readonly auditId: string;
  /** The decoded body, or the patch; it is copied. */
  takeRequestObject(value: unknown): void;
  /** Records that the request continues as another user; `constraint`: the verb of the constrained impersonation. */
  impersonates(user: Principal, constraint?: string): void;
  /** Resolves when the audit backend has the event and the request may continue; rejects when it must not. */
  written(): Promise<unknown> | undefined;
}

/** Further warnings are dropped, since a response's headers have no room for more. */
const MAX_WARNINGS = 4096;
const NO_WARNINGS: readonly string[] = [];

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
  #warnings: Set<string> | undefined;

  isLarge = false;

  /** Where a large body waits; undefined when its length is known in advance. */
  bodyGate: BodyGate | undefined;

  /** How long the request may take; undefined for unlimited requests, and until the deadline filter has run. */
  timeoutMs: number | undefined;

  /** Its place among concurrent requests; undefined for requests that are not counted. */
  slot: RequestSlot | undefined;

  /** How long the request waited in a queue of priority and fairness. */
  waitedMs = 0;

  /** Other waiting times by part; created with the first wait. */
  waits: PassedPart[] | undefined;

  /** Annotations of the audit event; created with the first one. */
  auditAnnotations: Map<string, string> | undefined;

  /** The audit recorder, for audited requests. */
  audited: RequestRecorder | undefined;

  trace: RequestTrace | undefined;

  /** Headers that name the flow schema and priority level; set where requests are classified. */
  flowHeaders: ApiHeaders | undefined;
  /** The error to answer with, once the request's time is over. */
  timedOut: Error | undefined;

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

  nextStep(): Promise<void> | undefined {
    const due = this.pause();
    return due && this.#unlessOver(due);
  }

  async #unlessOver(due: Promise<void>): Promise<void> {
    await due;
    if (this.timedOut !== undefined) throw this.timedOut;
    this.signal.throwIfAborted();
  }

  turn(): Promise<void> | undefined {
    return this.request.turn?.();
  }

  /** Waits for work of other processes (webhooks, kubelets) without holding the request's place. */
  waitFor<T>(waiting: Promise<T>): Promise<T> {
    return this.slot === undefined ? waiting : this.slot.waitFor(waiting);
  }

  get signal(): AbortSignal {
    return this.request.signal;
  }

  get userAgent(): string {
    return this.request.headers['user-agent'] ?? '';
  }

  /** In order, without duplicates. */
  get warnings(): readonly string[] {
    return this.#warnings === undefined ? NO_WARNINGS : [...this.#warnings];
  }

  addWarning(text: string): void {
    this.#warnings ??= new Set();
    if (this.#warnings.size < MAX_WARNINGS) this.#warnings.add(text);
  }

  addWait(name: string, milliseconds: number): void {
    (this.waits ??= []).push({ name, milliseconds });
  }

  addAuditAnnotation(key: string, value: string): void {
    this.auditAnnotations ??= new Map();
    if (!this.auditAnnotations.has(key)) this.auditAnnotations.set(key, value);
  }
}
