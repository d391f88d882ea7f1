/**
 * Errors of CRI calls: gRPC's status codes by name, as Go's `codes` spells them. Upstream: google.golang.org/grpc/status.
 */

/** gRPC status codes in their numeric order from 1. */
export const grpcCodes = [
  'OK',
  'Canceled',
  'Unknown',
  'InvalidArgument',
  'DeadlineExceeded',
  'NotFound',
  'AlreadyExists',
  'PermissionDenied',
  'ResourceExhausted',
  'FailedPrecondition',
  'Aborted',
  'OutOfRange',
  'Unimplemented',
  'Internal',
  'Unavailable',
  'DataLoss',
  'Unauthenticated',
] as const;

/** A gRPC status code's name. */
export type GrpcCode = (typeof grpcCodes)[number];

/** A CRI call failed. `detail` is the runtime's own message; `message` reads as Go prints such errors. */
export class CriError extends Error {
  readonly code: GrpcCode;
  readonly detail: string;

  constructor(code: GrpcCode, detail: string, options?: ErrorOptions) {
    super(`rpc error: code = ${code} desc = ${detail}`, options);
    this.name = 'CriError';
    this.code = code;
    this.detail = detail;
  }
}

/** Whether `error` is a CriError of one of these codes. */
export function isCriCode(error: unknown, ...codes: readonly GrpcCode[]): error is CriError {
  return error instanceof CriError && codes.includes(error.code);
}
