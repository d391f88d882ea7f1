// The correct responses of class 5xx by cause. Any other is a finding.

interface AllowedStatus {
  readonly status: number;
  readonly reason: RegExp;
  readonly path?: RegExp;
  /** The message of the Status, or the text. */
  readonly message: RegExp;
  readonly because: string;
}

export const allowedStatuses: readonly AllowedStatus[] = [
  {
    status: 500,
    reason: /^$/,
    message: /^failed to create typed patch object /,
    because: 'an applied configuration that does not fit its kind; upstream passes the error on without a reason',
  },
  {
    status: 503,
    reason: /^ServiceUnavailable$|^$/,
    path: /\/proxy|\/apis\/peer\.fuzz\.io/,
    message: /^/,
    because: 'what a proxied request was for does not listen; upstream answers 503',
  },
  {
    status: 500,
    reason: /^$/,
    path: /\/proxy/,
    message: /^error dialing backend: /,
    because: 'an upgrade towards what does not listen; upstream passes the error on without a reason',
  },
  {
    status: 504,
    reason: /^Timeout$/,
    path: /[?&]timeout=/,
    message: /^/,
    because: 'the client asked for a timeout shorter than the work; upstream answers 504',
  },
  {
    status: 504,
    reason: /^Timeout$/,
    path: /[?&]resourceVersion=/,
    message: /^Timeout: Too large resource version: /,
    because: 'a version that is not there yet; upstream waits three seconds for it, then answers 504',
  },
  {
    status: 500,
    reason: /^(InternalError)?$/,
    message: /failed calling webhook/,
    because: 'a webhook that must answer did not; upstream calls that an internal error',
  },
  {
    status: 500,
    reason: /^(InternalError)?$/,
    path: /\/apis\/fuzz\.io/,
    message: /conversion webhook for/,
    because: 'a webhook that converts did not answer as it must; upstream calls that an internal error',
  },
  {
    status: 500,
    reason: /^InternalError$/,
    path: /\/scale/,
    message: /the spec replicas field ".*" does not exist/s,
    because: 'a custom resource without the field its scale names; upstream calls that an internal error',
  },
  {
    status: 500,
    reason: /^$/,
    path: /\/nodes\/.*\/proxy/,
    message: /^no preferred addresses found; known addresses: /,
    because: 'a node that reports no address cannot be reached; upstream passes the error on without a reason',
  },
];

export interface Fault {
  readonly status: number;
  readonly reason: string;
  readonly message: string;
  readonly path: string;
}

/** A response to HEAD has no text: only its status and path are known. */
export function isAllowedForHead(fault: Pick<Fault, 'status' | 'path'>): boolean {
  return allowedStatuses.some(({ status, path }) => status === fault.status && path?.test(fault.path) === true);
}

export function isAllowed(fault: Fault): boolean {
  return allowedStatuses.some(
    ({ status, reason, path, message }) =>
      status === fault.status &&
      reason.test(fault.reason) &&
      (path?.test(fault.path) ?? true) &&
      message.test(fault.message),
  );
}
