/**
 * Use of claims' volumes, measured when somebody asks for it. Upstream:
 * pkg/kubelet/metrics/collectors/volume_stats.go. A claim that several pods use is told once.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Clock } from '../../platform/clock.ts';
import type { DiskUsage } from '../stats/disk-usage.ts';
import { formatMetrics, type MetricFamily, type Sample } from '../stats/prometheus-text.ts';

const FAMILIES = [
  ['capacity_bytes', 'Capacity in bytes of the volume', 'capacityBytes'],
  ['available_bytes', 'Number of available bytes in the volume', 'availableBytes'],
  ['used_bytes', 'Number of used bytes in the volume', 'usedBytes'],
  ['inodes', 'Maximum number of inodes in the volume', 'inodes'],
  ['inodes_free', 'Number of free inodes in the volume', 'inodesFree'],
  ['inodes_used', 'Number of used inodes in the volume', 'inodesUsed'],
] as const;

/** A volume that hangs must not keep the other metrics. */
const LIMIT_MS = 3000;

/** Prometheus text; empty where no pod uses a claim. */
export async function claimMetrics(
  { clock, disk }: { readonly clock: Clock; readonly disk: Pick<DiskUsage, 'volumes'> },
  pods: readonly Pod[],
): Promise<string> {
  const using = pods.filter((pod) => claimsOf(pod).size > 0);
  if (using.length === 0) return '';
  const end = new AbortController();
  const late = clock.sleep(LIMIT_MS, end.signal).catch(() => undefined);
  // A volume that cannot be measured must not hide the others; the measurer logs it.
  const uses = await Promise.all(
    using.map((pod) => Promise.race([disk.volumes(pod).catch(() => undefined), late.then(() => undefined)])),
  );
  end.abort();
  return textOf(using.map((pod, index) => ({ pod, uses: uses[index] })));
}

interface Measured {
  readonly pod: Pod;
  readonly uses: Awaited<ReturnType<DiskUsage['volumes']>> | undefined;
}

function textOf(measured: readonly Measured[]): string {
  const families: (MetricFamily & { samples: Sample[] })[] = FAMILIES.map(([name, help]) => ({
    name: `kubelet_volume_stats_${name}`,
    help,
    type: 'gauge',
    samples: [],
  }));
  const told = new Set<string>();
  for (const { pod, uses } of measured) {
    for (const [volume, claim] of claimsOf(pod)) {
      const use = uses?.get(volume);
      const namespace = pod.metadata.namespace ?? '';
      const key = `${namespace}/${claim}`;
      if (use === undefined || told.has(key)) continue;
      told.add(key);
      for (const [index, [, , field]] of FAMILIES.entries())
        families[index]!.samples.push({ labels: { namespace, persistentvolumeclaim: claim }, value: use[field] });
    }
  }
  return formatMetrics(families);
}

/** Claims by the names of the volumes; that of an ephemeral volume bears the pod's name. */
function claimsOf({ metadata, spec }: Pod): Map<string, string> {
  const claims = new Map<string, string>();
  for (const { name, persistentVolumeClaim, ephemeral } of spec?.volumes ?? [])
    if (persistentVolumeClaim !== undefined) claims.set(name, persistentVolumeClaim.claimName);
    else if (ephemeral !== undefined) claims.set(name, `${metadata.name}-${name}`);
  return claims;
}
