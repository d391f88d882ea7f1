/**
 * A request that the API server refused, as it remembers it: the user, the request, the parts it passed, and the part
 * that refused it. Served by the API server, explained by `keelson why request/ID`. Without bodies. No counterpart
 * upstream.
 */

/** The parts of the API server that may refuse a request, in the order in which it passes them. */
export const REFUSING_PARTS = [
  'authentication',
  'impersonation',
  'flowControl',
  'authorization',
  'decoding',
  'mutatingAdmission',
  'validation',
  'validatingAdmission',
  'handler',
] as const;

/** `timeout`: the answer took too long, wherever the request was. */
export type RefusingPart = (typeof REFUSING_PARTS)[number] | 'timeout';

/** A webhook that denied the request or could not be called. */
export interface RefusingWebhook {
  readonly configuration: string;
  readonly name: string;
  readonly mutating: boolean;
  /** The reason why the call failed; absent when the webhook denied the request. */
  readonly failure?: string;
}

export type FaultDetail = 'unsaid' | 'uncounted' | 'missing';

export interface Refuser {
  readonly part: RefusingPart;
  /** Admission plugin by upstream's name. */
  readonly plugin?: string;
  readonly webhook?: RefusingWebhook | undefined;
  /** The object that caused the refusal: the quota, the policy, the disruption budget. */
  readonly fault?: {
    readonly group: string;
    readonly resource: string;
    readonly namespace: string;
    readonly name: string;
    /**
     * The cause, where there are several. Quota: the request does not set what the quota measures, or the usage was
     * not counted yet; otherwise the quota is exceeded. Namespace: it does not exist; otherwise it is being deleted.
     */
    readonly detail?: FaultDetail | undefined;
  };
  /** The flow schema and priority level without room. */
  readonly flow?: { readonly schema: string; readonly level: string };
  /** The authorizers' reason; '' when there was none. */
  readonly reason?: string | undefined;
}

/** A part that the request passed or waited for. */
export interface PassedPart {
  /** A refusing part, or the admission plugin that was waited for. */
  readonly name: string;
  /** 0 when it did not wait. */
  readonly milliseconds: number;
}

/** The object or list in a request's path. */
export interface RequestedResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

export interface RefusedRequest {
  readonly apiVersion: 'keelson/v1';
  readonly kind: 'RefusedRequest';
  /** The answer's Audit-Id. */
  readonly id: string;
  /** When it was refused, RFC 3339. */
  readonly time: string;
  readonly user: string;
  readonly groups: readonly string[];
  readonly verb: string;
  /** The path without the query. */
  readonly path: string;
  /** Absent when the path names no resource. */
  readonly resource?: RequestedResource | undefined;
  readonly code: number;
  /** The reason of the answer's Status. */
  readonly reason: string;
  readonly message: string;
  readonly refusedBy: Refuser;
  /** The parts that the request passed before, in order. */
  readonly passed: readonly PassedPart[];
  readonly milliseconds: number;
}

export interface RefusedRequestList {
  readonly apiVersion: 'keelson/v1';
  readonly kind: 'RefusedRequestList';
  /** The newest first. */
  readonly items: readonly RefusedRequest[];
}
