/** The gRPC health check, without TLS. Each probe opens its own connection. Upstream: pkg/probe/grpc. */
import { errorMessage } from '../../base/errors.ts';
import { isGrpcCode } from '../../grpc/grpc-error.ts';
import type { GrpcConnector } from '../../grpc/grpc-connector.ts';
import type { ProtobufTable } from '../../grpc/protobuf-table.ts';
import type { ProbeOutcome } from './probe-outcome.ts';
import { joinHostPort } from './tcp-probe.ts';

/** grpc/health/v1/health.proto, without `Watch`. */
export const HEALTH_TABLE: ProtobufTable = {
  package: 'grpc.health.v1',
  enums: { ServingStatus: 'UNKNOWN SERVING NOT_SERVING SERVICE_UNKNOWN' },
  messages: { HealthCheckRequest: 'service:1:string', HealthCheckResponse: 'status:1:ServingStatus' },
  services: { Health: { Check: 'HealthCheckRequest HealthCheckResponse' } },
};

const CHECK = { service: 'grpc.health.v1.Health', method: 'Check' };

interface GrpcProbeTarget {
  readonly host: string;
  readonly port: number;
  /** Empty for the server as a whole. */
  readonly service: string;
  readonly timeoutMs: number;
}

export async function probeGrpc(connect: GrpcConnector, target: GrpcProbeTarget): Promise<ProbeOutcome> {
  const { host, port, service, timeoutMs } = target;
  const address = joinHostPort(host, port);
  const caller = connect(`http://${address}`, [HEALTH_TABLE], { 'user-agent': 'kube-probe/1.36' });
  try {
    const { status } = (await caller.unary(CHECK, { service }, { timeoutMs })) as { readonly status: string };
    if (status === 'SERVING') return { result: 'success', output: 'service healthy' };
    return { result: 'failure', output: `service unhealthy (responded with "${status}")` };
  } catch (error) {
    return { result: 'failure', output: failureText(error, address, timeoutMs / 1000) };
  } finally {
    caller.disconnect();
  }
}

function failureText(error: unknown, address: string, timeoutSeconds: number): string {
  // Upstream dials until the timeout, so a refused connection is reported as a timeout.
  if (isGrpcCode(error, 'DeadlineExceeded', 'Unavailable') && !error.sent)
    return `timeout: failed to connect service "${address}" within ${timeoutSeconds}s: context deadline exceeded`;
  if (isGrpcCode(error, 'DeadlineExceeded')) return `timeout: health rpc did not complete within ${timeoutSeconds}s`;
  if (isGrpcCode(error, 'Unimplemented'))
    return `error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${error.detail}`;
  return `error: health rpc probe failed: ${errorMessage(error)}`;
}
