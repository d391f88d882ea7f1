/** One request as the handlers see it: the contract's context with the query, the body and the warnings. */
import type { ApiHeaders, ApiRequest, Principal } from '../api/transport.ts';
import type { PassedPart } from '../component-helpers/refused-request.ts';
import type { RequestContext, RequestInfo } from './request-context.ts';
import type { RequestTrace } from './tracing/request-trace.ts';

/** Takes down what becomes of a request. */
export interface RequestRecorder {
  /** The answer's Audit-Id. */
  readonly auditId: string;
  /** The decoded body, or the patch; it is copied. */
  takeRequestObject(value: unknown): void;
  /** The request goes on as somebody else; `constraint`: the verb that allowed it, where it allows no more. */
  impersonates(user: Principal, constraint?: string): void;
  /** What the request must wait for before it goes on; rejects when it must not. */
  written(): Promise<unknown> | undefined;
}

/** More than an answer's head has room for, whatever their length. */
const MAX_WARNINGS = 4096;

/** A request being served. */
export class RequestScope implements RequestContext {
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  readonly params: URLSearchParams;
  /** Nobody until authentication, somebody else after impersonation. */
  user: Principal;
  /** Who impersonates the user; undefined: the user asks for themselves. */
  impersonator: Principal | undefined;
  /** On the monotonic clock. */
  readonly receivedMs: number;
  readonly warnings: string[] = [];

  isLarge = false;

  /** Time it may take; undefined: as long as its client likes, and before that is known. */
  timeoutMs: number | undefined;

  /** Time of that which it waited for its turn, in milliseconds. */
  waitedMs = 0;

  /** What else it waited for; made when it first waits. */
  waits: PassedPart[] | undefined;

  /** For the audit event; made when first written to. */
  auditAnnotations: Map<string, string> | undefined;

  /** Hears of the request's body, when the request is recorded. */
  audited: RequestRecorder | undefined;

  trace: RequestTrace | undefined;

  /** Names the flow schema and priority level in the answer; set where requests are classified. */
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
