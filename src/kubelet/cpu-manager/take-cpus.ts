/**
 * Chooses CPUs: whole NUMA nodes, then whole sockets, whole cores, single threads. Among equals, those with the
 * fewest free CPUs are used first, so that others stay entirely free. Pure. Upstream:
 * pkg/kubelet/cm/cpumanager/cpu_assignment.go.
 */
import type { HostCpu } from '../../platform/host.ts';
import { cpuSet, intersection, difference, type CpuSet } from './cpu-set.ts';
import { appendAll } from '../../base/lists.ts';

type Group = readonly HostCpu[];

/** Groups CPUs by a number such as their core. */
function groups(cpus: readonly HostCpu[], key: (cpu: HostCpu) => string | number): Group[] {
  const cpusById = new Map<string | number, HostCpu[]>();
  for (const cpu of cpus) cpusById.set(key(cpu), [...(cpusById.get(key(cpu)) ?? []), cpu]);
  return [...cpusById.values()];
}

const coreOf = ({ socket, core }: HostCpu): string => `${socket}/${core}`;

export function threadsPerCore(cpus: readonly HostCpu[]): number {
  return Math.max(1, Math.floor(cpus.length / Math.max(1, groups(cpus, coreOf).length)));
}

/** Takes `count` of the available processors. Throws when there are too few. */
export function takeCpus(machine: readonly HostCpu[], available: CpuSet, count: number): CpuSet {
  if (available.length < count)
    throw new Error(`not enough cpus available to satisfy request: requested=${count}, available=${available.length}`);
  let free = available;
  const taken: number[] = [];
  const isFree = (group: Group): boolean => group.every(({ cpu }) => free.includes(cpu));
  const freeIn = (key: (cpu: HostCpu) => number, group: HostCpu): number =>
    machine.filter((cpu) => key(cpu) === key(group) && free.includes(cpu.cpu)).length;
  const byScarcity = (a: Group, b: Group): number => {
    const [x, y] = [a[0]!, b[0]!];
    return (
      freeIn(({ node }) => node, x) - freeIn(({ node }) => node, y) ||
      x.node - y.node ||
      freeIn(({ socket }) => socket, x) - freeIn(({ socket }) => socket, y) ||
      x.socket - y.socket ||
      x.cpu - y.cpu
    );
  };
  const takeWhole = (all: Group[]): void => {
    for (const group of all.filter(isFree).sort(byScarcity)) {
      if (group.length > count - taken.length) continue;
      appendAll(
        taken,
        group.map(({ cpu }) => cpu),
      );
      free = difference(free, taken);
    }
  };
  const nodes = groups(machine, ({ node }) => node);
  const sockets = groups(machine, ({ socket }) => socket);
  // The larger unit first: some sockets hold several nodes, some nodes several sockets.
  for (const whole of nodes.length >= sockets.length ? [sockets, nodes] : [nodes, sockets]) takeWhole(whole);
  const cores = groups(machine, coreOf);
  takeWhole(cores);
  // Threads of partly used cores are taken first, so that free cores stay free.
  const rest = cores
    .map((core) => core.filter(({ cpu }) => free.includes(cpu)))
    .filter((core) => core.length > 0)
    .sort((a, b) => a.length - b.length || byScarcity(a, b));
  for (const { cpu } of rest.flat()) if (taken.length < count) taken.push(cpu);
  return cpuSet(taken);
}

/**
 * Takes CPUs evenly, in groups of `groupSize`, from the fewest NUMA nodes that suffice. Upstream:
 * takeByTopologyNUMADistributed.
 */
export function takeCpusDistributed(
  machine: readonly HostCpu[],
  available: CpuSet,
  group: { readonly count: number; readonly groupSize: number },
): CpuSet {
  const { count, groupSize } = group;
  const nodes = groups(
    machine.filter(({ cpu }) => available.includes(cpu)),
    ({ node }) => node,
  ).sort((a, b) => b.length - a.length || a[0]!.node - b[0]!.node);
  if (count % groupSize !== 0) return takeCpus(machine, available, count);
  for (let used = 1; used <= nodes.length; used++) {
    const share = Math.floor(count / used / groupSize) * groupSize;
    const chosen = nodes.slice(0, used);
    const capacity = chosen.reduce((sum, node) => sum + node.length, 0);
    if (capacity < count || chosen.some((node) => node.length < share)) continue;
    const taken: number[] = [];
    const rooms = chosen.map((node) =>
      intersection(
        available,
        node.map(({ cpu }) => cpu),
      ),
    );
    for (const room of rooms) appendAll(taken, takeCpus(machine, room, share));
    while (taken.length < count) {
      const room = rooms.map((each) => difference(each, taken)).sort((a, b) => b.length - a.length)[0]!;
      appendAll(taken, takeCpus(machine, room, Math.min(groupSize, count - taken.length, room.length)));
    }
    return cpuSet(taken);
  }
  return takeCpus(machine, available, count);
}
