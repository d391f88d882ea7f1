/** Errors of gRPC calls: status codes by name, as Go's `codes` spells them. Upstream: google.golang.org/grpc/status. */

/** gRPC status codes in their numeric order from 0. */
export const GRPC_CODES = [
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
export type GrpcCode = (typeof GRPC_CODES)[number];

/** A call failed. `detail` is the server's own message; `message` reads as Go prints such errors. */
export class GrpcError extends Error {
  readonly code: GrpcCode;
  readonly detail: string;
  /** False: the call never reached a server, so it had no effect. */
  readonly sent: boolean;

  constructor(code: GrpcCode, detail: string, options?: ErrorOptions & { readonly sent?: boolean }) {
    super(`rpc error: code = ${code} desc = ${detail}`, options);
    this.name = 'GrpcError';
    this.code = code;
    this.detail = detail;
    this.sent = options?.sent ?? true;
  }
}

/** Whether `error` is a GrpcError of one of these codes. */
export function isGrpcCode(error: unknown, ...codes: readonly GrpcCode[]): error is GrpcError {
  return error instanceof GrpcError && codes.includes(error.code);
}
