/** The allocations of one service, and the errors for addresses that cannot be allocated. */
import { invalidValue } from '../../../../api/field-error.ts';
import type { Service } from '../../../../api/gen/core-v1.ts';
import { type FieldCause, internalError, invalid, type StatusError } from '../../../../api/status-error.ts';
import { AllocationError } from './ip-allocator.ts';
import type { PortRange } from './port-allocator.ts';
import { heldIps, heldPorts } from './service-fields.ts';
import type { Claim } from './shared-claims.ts';

/** IP families as services name them. */
export type IpFamily = 'IPv4' | 'IPv6';

/** The ranges of a cluster. */
export interface ServiceAllocatorConfig {
  /** One range, or one of each family; the first is the default family. */
  readonly serviceClusterIpRanges: readonly string[];
  /** The address of the cluster DNS where DNS is no Service: a service with it would receive everybody's lookups. */
  readonly dnsAddress?: string;
  /** Default 30000-32767. */
  readonly nodePortRange?: PortRange;
}

/** An address or port taken by this write. */
export interface AllocatedClaim extends Claim {
  release(): void;
  /** The error when the user chose it and a service of another server has it. */
  readonly chosen?: () => StatusError;
}

/** The allocations of a write; exactly one of the two functions is called. */
export interface Allocation {
  commit(): void;
  rollback(): void;
}

/** Upstream's default node ports. */
export const DEFAULT_NODE_PORT_RANGE: PortRange = { first: 30000, last: 32767 };

export function heldClaims(service: Service | undefined): Claim[] {
  return [
    ...heldIps(service).map((value) => ({ kind: 'ip' as const, value })),
    ...[...new Set(heldPorts(service))].map((port) => ({ kind: 'port' as const, value: String(port) })),
  ];
}

export function invalidService(service: Service, causes: readonly FieldCause[]): StatusError {
  return invalid({ group: '', kind: 'Service' }, service.metadata.name ?? '', causes);
}

export function ipFailure(draft: Service, wanted: string, error: unknown): unknown {
  if (!(error instanceof AllocationError)) return error;
  if (wanted === '') return internalError(`failed to allocate a serviceIP: ${error.message}`, error);
  const text = `failed to allocate IP ${wanted}: ${error.message}`;
  return invalidService(draft, [invalidValue('spec.clusterIPs', draft.spec?.clusterIPs ?? [], text)]);
}
