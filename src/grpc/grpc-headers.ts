/** gRPC's headers and trailers in HTTP/2. */
import { percentDecoded } from '../base/header-text.ts';
import { GrpcError, GRPC_CODES } from './grpc-error.ts';

/** gRPC's longest timeout value has eight digits. */
const MAX_TIMEOUT_MS = 99_999_999;

/** The headers of a call. */
export function requestHeaders(
  own: Readonly<Record<string, string>> | undefined,
  timeoutMs: number | undefined,
): Record<string, string> {
  return {
    ...own,
    'content-type': 'application/grpc+proto',
    te: 'trailers',
    ...(!timeoutMs ? {} : { 'grpc-timeout': `${Math.min(Math.ceil(timeoutMs), MAX_TIMEOUT_MS)}m` }),
  };
}

/**
 * The runtime's status of the call: in the trailers, or in the headers when there is no message; undefined when these
 * contain no status.
 */
export function callStatus(headers: Readonly<Record<string, unknown>>): 'OK' | GrpcError | undefined {
  const status = headers['grpc-status'];
  if (status === undefined) {
    const http = headers[':status'];
    return http === undefined || http === 200
      ? undefined
      : new GrpcError('Unavailable', `unexpected HTTP status code ${String(http)}`);
  }
  const code = GRPC_CODES[Number(status)] ?? 'Unknown';
  return code === 'OK' ? 'OK' : new GrpcError(code, percentDecoded(String(headers['grpc-message'] ?? '')));
}

/**
 * The error of a call without a status: its connection could not be made or broke, for which gRPC says Unavailable.
 * `sent`: whether it may have reached the server.
 */
export function brokenCall(error: unknown, sent = true): GrpcError {
  if (error instanceof GrpcError && error.sent === sent) return error;
  if (error instanceof GrpcError) return new GrpcError(error.code, error.detail, { cause: error, sent });
  const cause = (error as { cause?: unknown } | undefined)?.cause ?? error;
  const text = cause instanceof Error ? cause.message : 'the connection was closed before the call had ended';
  return new GrpcError('Unavailable', text, { cause: error, sent });
}
