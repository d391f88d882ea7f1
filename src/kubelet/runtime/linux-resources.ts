/**
 * Requests and limits as CRI's Linux resources. Upstream: kuberuntime_container_linux.go, cm/helpers_linux.go, qos/policy.go.
 */
import { isRestartableInitContainer, sidecarsOf } from '../../api/pod-containers.ts';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import type { LinuxContainerResources } from '../../cri/gen/cri-types.ts';
import type { Init } from '../../cri/call-options.ts';
import { resourcesInPod } from '../allocation/resources.ts';
import { podRequests } from '../../component-helpers/pod-resources.ts';
import { podQosClass } from '../../api/pod-qos.ts';
import { quantityMilliValue, quantityValue } from '../../api/quantity.ts';
import { isCriticalPod } from '../types/pod-update.ts';
import { smallest } from '../../base/lists.ts';

const MIN_SHARES = 2;
const MAX_SHARES = 262_144;
const SHARES_PER_CPU = 1024;
const QUOTA_PERIOD_US = 100_000;
const MIN_QUOTA_US = 1000;
const HUGE_PAGE_PREFIX = 'hugepages-';

/** Settings of the node's configuration and hardware. */
export interface LinuxResourceConfig {
  readonly cgroupVersion: 1 | 2;
  readonly memoryCapacityBytes: number;
  /** CPU limits are enforced by quota. Default true. */
  readonly cpuCfsQuota?: boolean;
  readonly cpuCfsQuotaPeriodUs?: number;
  /** False: all processes of a container that runs out of memory are killed (cgroups v2). Upstream's default. */
  readonly singleProcessOomKill?: boolean;
  /** The kernel has memory.swap.max: containers get no swap, or as `swapBehavior` says. */
  readonly swapController?: boolean;
  /** LimitedSwap: burstable pods get swap in proportion to their memory requests. Default NoSwap. */
  readonly swapBehavior?: 'NoSwap' | 'LimitedSwap';
  readonly swapCapacityBytes?: number;
  /** The factor of memory.high; `tieredReservation`: memory.min and memory.low are set. Cgroups v2 only. */
  readonly memoryQos?: { readonly throttlingFactor: number | undefined; readonly tieredReservation: boolean };
  readonly pageSizeBytes?: number;
  /** Sizes of the node's huge pages. Each has the container's limit, or 0. */
  readonly hugePageSizesBytes: readonly number[];
}

/** CPU shares of a request in thousandths. */
export function milliCpuToShares(milliCpu: number): number {
  if (milliCpu === 0) return MIN_SHARES;
  return Math.min(Math.max(Math.floor((milliCpu * SHARES_PER_CPU) / 1000), MIN_SHARES), MAX_SHARES);
}

/** Quota in microseconds per period of a limit in thousandths; 0: none. */
export function milliCpuToQuota(milliCpu: number, periodUs: number = QUOTA_PERIOD_US): number {
  return milliCpu === 0 ? 0 : Math.max(Math.floor((milliCpu * periodUs) / 1000), MIN_QUOTA_US);
}

/** The OOM score adjustment (GetContainerOOMScoreAdjust): -997 for guaranteed and critical pods, 1000 for best effort, by memory share between. */
export function oomScoreAdjust(pod: Pod, container: Container, memoryCapacityBytes: number): number {
  if (isCriticalPod(pod)) return -997;
  const qos = podQosClass(pod);
  if (qos === 'Guaranteed') return -997;
  if (qos === 'BestEffort') return 1000;
  const own = Math.max(quantityValue(container.resources?.requests?.['memory'] ?? '0'), sidecarFloor(pod, container));
  const request = own + shareOfRest(pod);
  const adjust = 1000 - Math.floor((1000 * request) / memoryCapacityBytes);
  if (adjust < 1000 + -997) return 1000 + -997;
  return adjust === 1000 ? adjust - 1 : adjust;
}

/**
 * The part of the pod-level memory request that containers do not request, divided equally among all. Upstream:
 * remainingPodMemReqPerContainer.
 */
function shareOfRest({ metadata, spec }: Pod): number {
  const requested = quantityValue(spec?.resources?.requests?.['memory'] ?? '0');
  if (spec === undefined || requested === 0) return 0;
  const { resources: _resources, overhead: _overhead, ...ofContainers } = spec;
  const { memoryBytes } = podRequests({ metadata, spec: ofContainers }).requests;
  return Math.trunc((requested - memoryBytes) / (spec.containers.length + (spec.initContainers?.length ?? 0)));
}

/** A cache, since each of a pod's thousands of sidecars needs it. */
const smallestRequests = new WeakMap<readonly Container[], number>();

/**
 * A sidecar must not be killed before the regular containers: it counts with at least the smallest of their requests.
 */
function sidecarFloor(pod: Pod, container: Container): number {
  const sidecar = pod.spec?.initContainers?.some(
    (init) => init.name === container.name && isRestartableInitContainer(init),
  );
  if (!sidecar) return 0;
  const containers = pod.spec?.containers ?? [];
  let least = smallestRequests.get(containers);
  if (least === undefined) {
    least = smallest(containers.map((other) => quantityValue(other.resources?.requests?.['memory'] ?? '0')));
    smallestRequests.set(containers, least);
  }
  return least;
}

/** `2Mi` → `2MB`, as cgroup files spell page sizes. */
function pageSizeText(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value}${units[unit]}`;
}

function hugePageLimits(limits: Readonly<Record<string, string>>, sizesBytes: readonly number[]) {
  const wanted = new Map(sizesBytes.map((bytes) => [pageSizeText(bytes), 0]));
  for (const [name, quantity] of Object.entries(limits)) {
    if (name.startsWith(HUGE_PAGE_PREFIX))
      wanted.set(pageSizeText(quantityValue(name.slice(HUGE_PAGE_PREFIX.length))), quantityValue(quantity));
  }
  return [...wanted].map(([pageSize, limit]) => ({ pageSize, limit }));
}

/** CPU and memory of one set of requests and limits. */
function linuxResources(input: {
  requests: Readonly<Record<string, string>>;
  limits: Readonly<Record<string, string>>;
  config: LinuxResourceConfig;
}): Init<LinuxContainerResources> {
  const { requests, limits, config } = input;
  const periodUs = config.cpuCfsQuotaPeriodUs ?? QUOTA_PERIOD_US;
  const limit = quantityMilliValue(limits['cpu'] ?? '0');
  const requested =
    requests['cpu'] === undefined && limits['cpu'] !== undefined ? limit : quantityMilliValue(requests['cpu'] ?? '0');
  const quota = milliCpuToQuota(limit, periodUs);
  const memory = quantityValue(limits['memory'] ?? '0');
  return {
    cpuShares: milliCpuToShares(requested),
    ...(memory === 0 ? {} : { memoryLimitInBytes: memory }),
    ...(config.cpuCfsQuota === false || quota === 0 ? {} : { cpuQuota: quota, cpuPeriod: periodUs }),
  };
}

/**
 * Swap of a container under LimitedSwap: only for burstable pods that are not critical, and for containers whose
 * memory limit exceeds their request.
 */
function swapLimitBytes(pod: Pod, container: Container, config: LinuxResourceConfig): number {
  if (config.swapBehavior !== 'LimitedSwap' || podQosClass(pod) !== 'Burstable' || isCriticalPod(pod)) return 0;
  const { requests = {}, limits = {} } = container.resources ?? {};
  const request = quantityValue(requests['memory'] ?? '0');
  if (request === 0 || request === quantityValue(limits['memory'] ?? '0')) return 0;
  return Math.floor((request / config.memoryCapacityBytes) * (config.swapCapacityBytes ?? 0));
}

/** The container's protected memory, and the amount above which it is throttled. Upstream: the MemoryQoS feature. */
function memoryQos(pod: Pod, container: Container, config: LinuxResourceConfig): Record<string, string> {
  const { throttlingFactor, tieredReservation = false } = config.memoryQos ?? {};
  const { requests = {}, limits = {} } = container.resources ?? {};
  const request = quantityValue(requests['memory'] ?? '0');
  const qos = podQosClass(pod);
  const kept: Record<string, string> = {};
  if (tieredReservation && request > 0) kept[qos === 'Guaranteed' ? 'memory.min' : 'memory.low'] = String(request);
  if (throttlingFactor === undefined || qos === 'Guaranteed') return kept;
  const page = config.pageSizeBytes ?? 4096;
  const limit = limits['memory'] === undefined ? config.memoryCapacityBytes : quantityValue(limits['memory']);
  const high = Math.floor((request + throttlingFactor * (limit - request)) / page) * page;
  return high > request ? { ...kept, 'memory.high': String(high) } : kept;
}

/** All of a container's resources. */
export function containerResources(
  pod: Pod,
  container: Container,
  config: LinuxResourceConfig,
): Init<LinuxContainerResources> {
  const { requests = {}, limits = {} } = resourcesInPod(pod, container);
  const base = linuxResources({ requests, limits, config });
  const unified: Record<string, string> = {};
  if (config.cgroupVersion === 2) {
    if (config.singleProcessOomKill !== true) unified['memory.oom.group'] = '1';
    if (config.swapController) unified['memory.swap.max'] = String(swapLimitBytes(pod, container, config));
    Object.assign(unified, memoryQos(pod, container, config));
  }
  return {
    ...base,
    oomScoreAdj: oomScoreAdjust(pod, container, config.memoryCapacityBytes),
    hugepageLimits: hugePageLimits(limits, config.hugePageSizesBytes),
    ...(config.cgroupVersion === 2 ? { unified } : {}),
  };
}

function sum(lists: readonly Readonly<Record<string, string>>[]): Record<string, string> {
  const total: Record<string, number> = {};
  for (const list of lists) {
    for (const [name, quantity] of Object.entries(list))
      total[name] = (total[name] ?? 0) + quantityMilliValue(quantity);
  }
  return Object.fromEntries(Object.entries(total).map(([name, milli]) => [name, `${milli}m`]));
}

/** Overhead and summed resources of a pod, which runtimes with virtual machines need. */
export function sandboxResources(
  pod: Pod,
  config: LinuxResourceConfig,
): { overhead: Init<LinuxContainerResources>; resources: Init<LinuxContainerResources> } {
  const sidecars = sidecarsOf(pod.spec);
  const running = [...(pod.spec?.containers ?? []), ...sidecars];
  const overhead = pod.spec?.overhead;
  const allLimited = (name: string): boolean =>
    running.every((container) => container.resources?.limits?.[name] !== undefined);
  const limits = Object.fromEntries(
    Object.entries(sum(running.map((c) => c.resources?.limits ?? {}))).filter(([name]) => allLimited(name)),
  );
  return {
    overhead: overhead === undefined ? {} : linuxResources({ requests: overhead, limits: overhead, config }),
    resources: linuxResources({ requests: sum(running.map((c) => c.resources?.requests ?? {})), limits, config }),
  };
}
