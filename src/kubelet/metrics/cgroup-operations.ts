/** Metrics of the duration of cgroup changes. Upstream: CgroupManagerDuration in pkg/kubelet/cm/cgroup_manager_linux.go. */
import type { Cgroups } from '../../platform/cgroups.ts';
import type { BasePlatform } from '../../platform/platform.ts';

/** The same cgroups, measured. */
export function measureCgroups(cgroups: Cgroups, { clock, metrics }: Pick<BasePlatform, 'clock' | 'metrics'>): Cgroups {
  const duration = metrics.histogram({
    name: 'kubelet_cgroup_manager_duration_seconds',
    help: 'Duration in seconds for cgroup manager operations. Broken down by method.',
    labels: ['operation_type'],
  });
  const timed = async (type: string, work: () => Promise<void>): Promise<void> => {
    const startMs = clock.monotonicMs();
    try {
      await work();
    } finally {
      duration.observe((clock.monotonicMs() - startMs) / 1000, { operation_type: type });
    }
  };
  return {
    version: cgroups.version,
    exists: (name) => cgroups.exists(name),
    create: (name, resources) => timed('create', () => cgroups.create(name, resources)),
    update: (name, resources) => timed('update', () => cgroups.update(name, resources)),
    destroy: (name) => timed('destroy', () => cgroups.destroy(name)),
    addProcess: (name, pid) => cgroups.addProcess(name, pid),
    pids: (name) => cgroups.pids(name),
    stats: (name) => cgroups.stats(name),
    memoryMax: (name) => cgroups.memoryMax(name),
    pressures: (name, containerId) => cgroups.pressures(name, containerId),
    counters: (name, containerId) => cgroups.counters(name, containerId),
    children: (name) => cgroups.children(name),
    criParent: (name) => cgroups.criParent(name),
  };
}
