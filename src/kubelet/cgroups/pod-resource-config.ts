/** Limits of a pod's cgroup, from its spec alone. Upstream: ResourceConfigForPod in pkg/kubelet/cm/helpers_linux.go. */
import { isRestartableInitContainer } from '../../api/pod-containers.ts';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { podQosClass } from '../../api/pod-qos.ts';
import { quantityFromValue } from '../../api/quantity.ts';
import {
  addAmounts,
  amountsOf,
  emptyAmounts,
  podRequests,
  type ResourceAmounts,
} from '../../component-helpers/pod-resources.ts';
import type { CgroupResources } from '../../platform/cgroups.ts';
import { milliCpuToQuota, milliCpuToShares } from '../runtime/linux-resources.ts';

/** Shares of pods without a CPU request. */
export const MIN_CPU_SHARES = 2;

export interface PodResourceOptions {
  /** CPU limits are enforced by quota. */
  readonly enforceCpuLimits: boolean;
  readonly cpuQuotaPeriodUs: number;
  /** The most processes of a pod; absent: no limit. */
  readonly podPidsLimit?: number;
  /** Sizes of the node's huge pages in bytes. */
  readonly hugePageSizesBytes: readonly number[];
}

const HUGE_PAGE_PREFIX = 'hugepages-';

/** The limits for the pod's QoS class. */
export function resourceConfigForPod(pod: Pod, options: PodResourceOptions): CgroupResources {
  const qos = podQosClass(pod);
  const { limits, cpuDeclared, memoryDeclared } = podLimits(pod);
  const shares = milliCpuToShares(podRequests(pod).requests.milliCpu);
  const quota: CgroupResources = options.enforceCpuLimits
    ? {
        cpuQuotaUs: milliCpuToQuota(limits.milliCpu, options.cpuQuotaPeriodUs) || 'max',
        cpuPeriodUs: options.cpuQuotaPeriodUs,
      }
    : { cpuQuotaUs: 'max', cpuPeriodUs: options.cpuQuotaPeriodUs };
  return {
    cpuShares: qos === 'BestEffort' ? MIN_CPU_SHARES : shares,
    ...(qos === 'Guaranteed' || (qos === 'Burstable' && cpuDeclared) ? quota : {}),
    ...(qos === 'Guaranteed' || (qos === 'Burstable' && memoryDeclared) ? { memoryMaxBytes: limits.memoryBytes } : {}),
    ...(options.podPidsLimit === undefined ? {} : { pidsMax: options.podPidsLimit }),
    ...hugePageLimits(limits, options.hugePageSizesBytes),
  };
}

/** Summed limits, and whether every container has one. */
export function podLimits(pod: Pod): {
  readonly limits: ResourceAmounts;
  readonly cpuDeclared: boolean;
  readonly memoryDeclared: boolean;
} {
  const spec = pod.spec;
  const limits = emptyAmounts();
  const all = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
  for (const container of spec?.containers ?? []) addAmounts(limits, limitsOf(container));
  const sidecars = emptyAmounts();
  for (const container of spec?.initContainers ?? []) {
    const own = limitsOf(container);
    if (isRestartableInitContainer(container)) {
      addAmounts(limits, own);
      addAmounts(sidecars, own);
    } else {
      addAmounts(own, sidecars);
      raiseTo(limits, own);
    }
  }
  const podLevel = spec?.resources?.limits;
  if (podLevel?.['cpu'] !== undefined) limits.milliCpu = amountsOf(podLevel).milliCpu;
  if (podLevel?.['memory'] !== undefined) limits.memoryBytes = amountsOf(podLevel).memoryBytes;
  const declared = (name: 'cpu' | 'memory'): boolean =>
    podLevel?.[name] !== undefined || (all.length > 0 && all.every((container) => isPositive(container, name)));
  const [cpuDeclared, memoryDeclared] = [declared('cpu'), declared('memory')];
  const overhead = amountsOf(spec?.overhead);
  // Overhead raises an existing limit but does not create one.
  if (limits.milliCpu > 0) limits.milliCpu += overhead.milliCpu;
  if (limits.memoryBytes > 0) limits.memoryBytes += overhead.memoryBytes;
  return { limits, cpuDeclared, memoryDeclared };
}

function limitsOf(container: Container): ResourceAmounts {
  return amountsOf(container.resources?.limits);
}

function isPositive(container: Container, name: 'cpu' | 'memory'): boolean {
  const { milliCpu, memoryBytes } = limitsOf(container);
  return (name === 'cpu' ? milliCpu : memoryBytes) > 0;
}

function raiseTo(limits: ResourceAmounts, other: Readonly<ResourceAmounts>): void {
  limits.milliCpu = Math.max(limits.milliCpu, other.milliCpu);
  limits.memoryBytes = Math.max(limits.memoryBytes, other.memoryBytes);
  for (const [name, value] of Object.entries(other.scalars ?? {}))
    (limits.scalars ??= {})[name] = Math.max(limits.scalars[name] ?? 0, value);
}

/** A limit for each page size of the node; 0 where the pod requests none. */
function hugePageLimits(
  limits: Readonly<ResourceAmounts>,
  sizesBytes: readonly number[],
): { hugePageLimits?: Record<string, number> } {
  if (sizesBytes.length === 0) return {};
  const bySize: Record<string, number> = {};
  for (const bytes of sizesBytes) {
    bySize[kernelSize(bytes)] = limits.scalars?.[`${HUGE_PAGE_PREFIX}${quantityFromValue(bytes, 'BinarySI')}`] ?? 0;
  }
  return { hugePageLimits: bySize };
}

/** `2MB`, `1GB`: the spelling in file names of the hugetlb controller. */
function kernelSize(bytes: number): string {
  return quantityFromValue(bytes, 'BinarySI').replace(/i$/, 'B');
}
