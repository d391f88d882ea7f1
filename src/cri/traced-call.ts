/** The span of a CRI call within that of the work it is part of, and the header that lets the runtime go on with the trace. Upstream: otelgrpc. */
import { formatTraceparent } from '../platform/trace-context.ts';
import type { GrpcMethod } from '../grpc/grpc-caller.ts';
import { GrpcError, GRPC_CODES } from '../grpc/grpc-error.ts';
import type { Span } from '../platform/tracing.ts';

type Headers = Readonly<Record<string, string>>;

export async function tracedCall<T>(
  parent: Span,
  { service, method }: GrpcMethod,
  call: (headers: Headers) => Promise<T>,
): Promise<T> {
  const attributes = { 'rpc.system': 'grpc', 'rpc.service': service, 'rpc.method': method };
  const span = parent.child(`${service}/${method}`, { kind: 'client', attributes });
  try {
    const answer = await call({ traceparent: formatTraceparent(span.context) });
    span.end();
    return answer;
  } catch (error) {
    if (error instanceof GrpcError) span.set({ 'rpc.grpc.status_code': GRPC_CODES.indexOf(error.code) });
    span.end(error);
    throw error;
  }
}
