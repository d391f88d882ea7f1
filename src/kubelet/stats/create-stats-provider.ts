/**
 * Statistics of the node, its pods and containers. Upstream: pkg/kubelet/stats, pkg/kubelet/server/stats/summary.go.
 *
 * Nothing is read before a request; requests within a second share a reading.
 */
import { podUid } from '../types/pod-update.ts';
import { formatTime } from '../../api/time.ts';
import type { CriRuntime } from '../../cri/runtime-service.ts';
import type { Platform } from '../../platform/platform.ts';
import type { PodCgroups } from '../cgroups/create-pod-container-manager.ts';
import { containerDir, hostsFilePath, podLogDir, podLogIdentity } from '../runtime/paths.ts';
import type { KubeletHost } from '../server/host.ts';
import type { VolumeManager } from '../volumes/volume-manager-contract.ts';
import { readCounters } from './cadvisor-counters.ts';
import { cadvisorMetrics } from './cadvisor-metrics.ts';
import { createDiskUsage, type DiskUsage } from './disk-usage.ts';
import { kubeletMetrics, type MeasuredVolume } from './kubelet-metrics.ts';
import { cgroupMemory, cpuStats, podSummary, type PodReadings } from './pod-summary.ts';
import { createSpaceReader, spaceOf, type DeviceSpace } from './space.ts';
import { readPressures, withPressures, type NodePressures } from './pressures.ts';
import { resourceMetrics } from './resource-metrics.ts';
import { createRuntimeUsage, type RuntimeFileSystems, type RuntimeUsage } from './runtime-usage.ts';
import { takeNodeSnapshot, takeSnapshot, type NodeSnapshot, type PodReading } from './snapshot.ts';
import type { StatsProvider } from './stats-provider.ts';
import type { NodeStats, Summary } from './summary-types.ts';
import { createUsageRates, type UsageRates } from './usage-rates.ts';

export interface StatsProviderDeps {
  readonly cri: CriRuntime;
  readonly platform: Pick<Platform, 'clock' | 'files' | 'host' | 'cgroups' | 'log'>;
  readonly host: KubeletHost;
  readonly volumes: Pick<VolumeManager, 'volumeStats'>;
  readonly podCgroups: PodCgroups;
}

export interface StatsProviderConfig {
  readonly kubeletRoot: string;
  readonly podLogsDir: string;
  /** How old the measured usage of volumes may be; negative: it is not measured. Default: a minute. */
  readonly volumeStatsPeriodMs?: number;
}

const SHARE_MS = 1000;
const FORGET_RATES_MS = 600_000;

/** Makes the provider; nothing is read before the first call. */
export function createStatsProvider(deps: StatsProviderDeps, config: StatsProviderConfig): StatsProvider {
  const { clock, files } = deps.platform;
  const log = deps.platform.log.child('stats');
  const runtime = createRuntimeUsage({ cri: deps.cri, files });
  const { volumeStatsPeriodMs: volumePeriodMs = 60_000 } = config;
  const disk = createDiskUsage({ clock, files, log, volumes: deps.volumes, volumePeriodMs });
  const rates = createUsageRates();
  // Separate rates: a request for the node alone must not shorten the interval of the others' rates.
  const nodeRates = createUsageRates();
  const startTime = formatTime(clock.nowMs());
  const pressuresBySnapshot = new WeakMap<NodeSnapshot, Promise<NodePressures>>();
  let last: { readonly atMs: number; readonly snapshot: Promise<NodeSnapshot> } | undefined;

  function snapshot(): Promise<NodeSnapshot> {
    if (last === undefined || clock.monotonicMs() - last.atMs >= SHARE_MS) {
      const taken = takeSnapshot({ platform: deps.platform, runtime, host: deps.host, podCgroups: deps.podCgroups });
      const mine = { atMs: clock.monotonicMs(), snapshot: taken };
      last = mine;
      taken.catch(() => {
        if (last === mine) last = undefined;
      });
    }
    return last.snapshot;
  }

  let pressuresFailed = false;
  /** Logs a file that cannot be read, once. */
  function pressureFailed(error: unknown): void {
    if (!pressuresFailed) log.error('Failed to read pressure stall information', { err: error });
    pressuresFailed = true;
  }

  /** Read once per snapshot, at the first request. */
  function pressuresOf(now: NodeSnapshot): Promise<NodePressures> {
    let read = pressuresBySnapshot.get(now);
    if (read === undefined)
      pressuresBySnapshot.set(now, (read = readPressures({ ...deps, failed: pressureFailed }, now)));
    return read;
  }

  return {
    async summary({ onlyCpuAndMemory = false, withoutPressure = false } = {}): Promise<Summary> {
      const now = await snapshot();
      const pressures = withoutPressure ? undefined : await pressuresOf(now);
      rates.forgetBefore(now.nowMs - FORGET_RATES_MS);
      const space = onlyCpuAndMemory ? undefined : await readSpace({ config, files, runtime });
      const pods = await Promise.all(
        now.pods.map(async (pod) => podSummary(await readPod({ now, pod, space, disk, config, pressures }), rates)),
      );
      disk.keepOnly(new Set(now.pods.map(({ pod }) => podUid(pod))));
      return { node: nodeSummary({ nodeName: deps.host.nodeName, startTime, now, space, rates, pressures }), pods };
    },
    async node() {
      const now = await takeNodeSnapshot({ platform: deps.platform, podCgroups: deps.podCgroups });
      const space = await readSpace({ config, files, runtime });
      return nodeSummary({
        nodeName: deps.host.nodeName,
        startTime,
        now,
        space,
        rates: nodeRates,
        pressures: undefined,
      });
    },
    async kubeletMetrics() {
      const claiming = deps.host
        .pods()
        .filter(({ spec }) => spec?.volumes?.some((each) => each.persistentVolumeClaim ?? each.ephemeral));
      const measured = await Promise.all(
        claiming.map(async (pod) => {
          const uses = await disk.volumes(pod).catch(() => undefined); // logged
          return [...(uses ?? [])].map(([name, use]): MeasuredVolume => ({ pod, name, use }));
        }),
      );
      return kubeletMetrics(deps.host, measured.flat());
    },
    async cadvisorMetrics() {
      const now = await snapshot();
      const [pressures, counters] = await Promise.all([pressuresOf(now), readCounters(deps, now)]);
      return cadvisorMetrics(now, { pressures, counters });
    },
    async resourceMetrics() {
      try {
        return resourceMetrics(await snapshot());
      } catch (error) {
        log.error('Error getting summary for resourceMetric prometheus endpoint', { err: error });
        return resourceMetrics(undefined);
      }
    },
  };
}

interface Space extends RuntimeFileSystems {
  readonly node: DeviceSpace;
}

async function readSpace(input: {
  config: StatsProviderConfig;
  files: Platform['files'];
  runtime: RuntimeUsage;
}): Promise<Space> {
  const spaceAt = createSpaceReader(input.files);
  const [node, ofRuntime] = await Promise.all([spaceAt(input.config.kubeletRoot), input.runtime.fileSystems(spaceAt)]);
  return { node, ...ofRuntime };
}

interface PodInput {
  readonly now: NodeSnapshot;
  readonly pod: PodReading;
  readonly space: Space | undefined;
  readonly disk: DiskUsage;
  readonly config: StatsProviderConfig;
  readonly pressures: NodePressures | undefined;
}

async function readPod({ now, pod, space, disk, config, pressures }: PodInput): Promise<PodReadings> {
  const read = { ...pod, nowMs: now.nowMs, pressures: pressures?.pods.get(podUid(pod.pod)) };
  if (space === undefined) return read;
  const logs = new Map<string, { bytes: number; files: number }>();
  const paths = { rootDir: config.kubeletRoot, podLogsDir: config.podLogsDir };
  const dir = podLogDir(paths, podLogIdentity(pod.pod));
  for (const { name } of pod.usage.containers) logs.set(name, await disk.logs(`${dir}/${name}`));
  // A container may write any amount into these files (CVE-2020-8557).
  const uid = podUid(pod.pod);
  let ownFileBytes = (await disk.logs(hostsFilePath(paths, uid))).bytes;
  for (const { name } of pod.usage.containers) ownFileBytes += (await disk.logs(containerDir(paths, uid, name))).bytes;
  // A volume that cannot be measured must not hide the other statistics.
  const volumes = await disk.volumes(pod.pod).catch(() => undefined);
  return {
    ...read,
    logs,
    ownFileBytes,
    disk: space.node,
    volumes,
    containerFs: space.containerFs,
  };
}

interface NodeInput {
  readonly nodeName: string;
  readonly startTime: string;
  readonly now: NodeSnapshot;
  readonly space: Space | undefined;
  readonly rates: UsageRates;
  readonly pressures: NodePressures | undefined;
}

function nodeSummary({ nodeName, startTime, now, space, rates, pressures }: NodeInput): NodeStats {
  const { node, allPods, nowMs } = now;
  const time = formatTime(nowMs);
  const podsContainer =
    allPods === undefined
      ? []
      : [
          {
            name: 'pods',
            startTime,
            ...withPressures(
              {
                cpu: cpuStats({ key: 'pods', timeMs: nowMs, usageNs: allPods.cpuUsageNs }, rates),
                memory: cgroupMemory(allPods, nowMs),
              },
              pressures?.allPods,
              time,
            ),
          },
        ];
  const measured = {
    cpu:
      node.cpuUsageNs === undefined
        ? undefined
        : cpuStats({ key: 'node', timeMs: nowMs, usageNs: node.cpuUsageNs }, rates),
    memory: { time, ...node.memory },
  };
  const main = node.interfaces.find(({ name }) => name === node.defaultInterface);
  const used = (disk: Space['node']): object => ({
    usedBytes: disk.totalBytes - disk.availableBytes,
    inodesUsed: disk.totalInodes - disk.availableInodes,
  });
  return {
    nodeName,
    startTime,
    systemContainers: podsContainer,
    ...withPressures(measured, pressures?.node, time),
    fs: space && { time, ...spaceOf(space.node), ...used(space.node) },
    runtime: space?.imageFs && {
      imageFs: { time, ...space.imageFs },
      ...(space.containerFs && { containerFs: { time, ...space.containerFs } }),
    },
    network: main && { time, ...main, interfaces: node.interfaces },
    rlimit: { time, maxpid: node.maxPid, curproc: node.processes },
  };
}
