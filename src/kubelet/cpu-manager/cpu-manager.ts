/**
 * The static policy: containers of guaranteed pods that ask for whole processors get them alone, all others share the
 * rest. Upstream: pkg/kubelet/cm/cpumanager (policy_static.go). The none policy is the absence of this manager.
 *
 * Invariants: a processor is alone in one container or shared, never both, save that containers of a pod inherit those of
 * its init containers; what was given is on disk before the container is made.
 */
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { podQosClass } from '../../api/pod-qos.ts';
import { quantityMilliValue } from '../../api/quantity.ts';
import { KeyedMutex } from '../../base/keyed-mutex.ts';
import type { Files } from '../../platform/files.ts';
import type { HostCpu } from '../../platform/host.ts';
import {
  AllocationError,
  maskCount,
  masksOver,
  type HintProvider,
  type TopologyHint,
} from '../topology-manager/hints.ts';
import { podUid } from '../types/pod-update.ts';
import { common, cpuSet, formatCpuSet, without, type CpuSet } from './cpu-set.ts';
import { readCpuState, writeCpuState, type CpuState } from './cpu-state.ts';
import { takeCpus, takeCpusDistributed, threadsPerCore } from './take-cpus.ts';

/** Settings of the policy. */
export interface CpuManagerConfig {
  /** Processors for the system; empty: as many as are reserved. */
  readonly reservedCpus: CpuSet;
  /** Processors reserved for the system and the kubelet, in thousandths. */
  readonly reservedMilliCpu: number;
  readonly fullPcpusOnly: boolean;
  readonly distributeAcrossNuma: boolean;
  /** Shared containers do not run on reserved processors either. */
  readonly strictReservation: boolean;
}

export interface CpuManager extends HintProvider {
  /** Reads what an earlier run kept. Rejects when it does not fit the machine or the configuration. */
  start(cpus: readonly HostCpu[]): Promise<void>;
  /** Whether a container of the pod gets processors alone. */
  concerns(pod: Pod): boolean;
  /** Frees what other pods had. */
  keepOnly(podUids: ReadonlySet<string>): Promise<void>;
  /** Where the container may run. */
  cpusOf(podUid: string, container: string): CpuSet;
  /** Those it has alone; undefined: none. */
  exclusiveCpus(podUid: string, container: string): CpuSet | undefined;
  /** Processors that can be given away: all but the reserved ones. */
  allocatable(): CpuSet;
}

/** Makes the manager; its memory is `cpu_manager_state` in the directory. */
export function createCpuManager(deps: { files: Files }, directory: string, config: CpuManagerConfig): CpuManager {
  const path = `${directory}/cpu_manager_state`;
  const mutex = new KeyedMutex();
  let machine: readonly HostCpu[] = [];
  let reserved: CpuSet = [];
  let state: CpuState = { defaultSet: [], assignments: {} };
  const reusable = new Map<string, CpuSet>();

  const all = (): CpuSet => cpuSet(machine.map(({ cpu }) => cpu));
  const held = (uid: string, name: string): CpuSet | undefined => state.assignments[uid]?.[name];
  const available = (): CpuSet => without(state.defaultSet, reserved);
  const save = (): Promise<void> => mutex.run('save', () => writeCpuState(deps.files, path, state));

  function take(from: CpuSet, count: number): CpuSet {
    const groupSize = config.fullPcpusOnly ? threadsPerCore(machine) : 1;
    return config.distributeAcrossNuma
      ? takeCpusDistributed(machine, from, { count, groupSize })
      : takeCpus(machine, from, count);
  }

  /** First those near the affinity, then others. */
  function choose(free: CpuSet, count: number, affinity: number | undefined): CpuSet {
    if (affinity === undefined) return take(free, count);
    const near = common(
      free,
      machine.flatMap(({ cpu, node }) => ((affinity & (1 << node)) === 0 ? [] : cpu)),
    );
    const aligned = take(near, Math.min(near.length, count));
    return cpuSet([...aligned, ...take(without(free, aligned), count - aligned.length)]);
  }

  function checkAlignment(count: number, free: CpuSet): void {
    if (!config.fullPcpusOnly) return;
    const perCore = threadsPerCore(machine);
    const fail = (text: string): never => {
      throw new AllocationError('SMTAlignmentError', `SMT Alignment Error: ${text}`);
    };
    if (count % perCore !== 0) fail(`requested ${count} cpus not multiple cpus per core = ${perCore}`);
    const whole = wholeCores(machine, free);
    if (count > whole)
      fail(
        `not enough free physical CPUs: available physical CPUs = ${whole}, requested CPUs = ${count}, CPUs per core = ${perCore}`,
      );
  }

  /** What an init container leaves is for the containers after it, once each. */
  function passOn(pod: Pod, container: Container, cpus: CpuSet): void {
    const uid = podUid(pod);
    const init = (pod.spec?.initContainers ?? []).some(({ name }) => name === container.name);
    const left = reusable.get(uid) ?? [];
    reusable.set(uid, init && container.restartPolicy !== 'Always' ? cpuSet([...left, ...cpus]) : without(left, cpus));
  }

  async function allocate(pod: Pod, container: Container, hint: TopologyHint): Promise<void> {
    const count = exclusiveCount(pod, container);
    if (count === 0) return;
    const uid = podUid(pod);
    const before = held(uid, container.name);
    if (before !== undefined) return passOn(pod, container, before);
    const left = reusable.get(uid) ?? [];
    const free = cpuSet([...available(), ...left]);
    checkAlignment(count, free);
    const inherited = take(left, Math.min(left.length, count));
    const more = choose(without(free, inherited), count - inherited.length, hint.affinity);
    const cpus = cpuSet([...inherited, ...more]);
    const assignments = {
      ...state.assignments,
      [uid]: { ...state.assignments[uid], [container.name]: cpus },
    };
    state = { defaultSet: without(state.defaultSet, cpus), assignments };
    passOn(pod, container, cpus);
    await save();
  }

  function hintsFor(count: number, of: { held: CpuSet | undefined; left: CpuSet }): TopologyHint[] {
    if (of.held !== undefined && of.held.length !== count) return [];
    const free = of.held ?? available();
    const left = of.held === undefined ? of.left : [];
    let smallest = Number.POSITIVE_INFINITY;
    const masks: number[] = [];
    for (const mask of masksOver([...new Set(machine.map(({ node }) => node))].sort((a, b) => a - b))) {
      const within = cpuSet(machine.flatMap(({ cpu, node }) => ((mask & (1 << node)) === 0 ? [] : cpu)));
      if (within.length >= count) smallest = Math.min(smallest, maskCount(mask));
      if (common(left, within).length < left.length) continue;
      if (common(cpuSet([...free, ...left]), within).length >= count) masks.push(mask);
    }
    return masks.map((affinity) => ({ affinity, preferred: maskCount(affinity) === smallest }));
  }

  function adopt(kept: CpuState | undefined): void {
    const shared = config.strictReservation ? without(all(), reserved) : all();
    state = kept ?? { defaultSet: shared, assignments: {} };
    const known = cpuSet([
      ...state.defaultSet,
      ...Object.values(state.assignments).flatMap((containers) => Object.values(containers).flat()),
      ...(config.strictReservation ? reserved : []),
    ]);
    if (formatCpuSet(known) !== formatCpuSet(all()))
      throw new Error(
        `current set of available CPUs "${formatCpuSet(all())}" doesn't match with CPUs in state "${formatCpuSet(known)}"`,
      );
  }

  return {
    allocate,
    concerns: (pod) => containersOf(pod).some((container) => exclusiveCount(pod, container) > 0),
    allocatable: () => without(all(), reserved),
    exclusiveCpus: held,
    cpusOf: (uid, name) => held(uid, name) ?? state.defaultSet,
    topologyHints(pod, container) {
      const count = exclusiveCount(pod, container);
      if (count === 0) return {};
      const uid = podUid(pod);
      return { cpu: hintsFor(count, { held: held(uid, container.name), left: reusable.get(uid) ?? [] }) };
    },
    podTopologyHints(pod) {
      const count = podCount(pod);
      if (count === 0) return {};
      const own = cpuSet(Object.values(state.assignments[podUid(pod)] ?? {}).flat());
      return { cpu: hintsFor(count, { held: own.length === 0 ? undefined : own, left: [] }) };
    },
    async keepOnly(podUids) {
      for (const uid of reusable.keys()) if (!podUids.has(uid)) reusable.delete(uid);
      const gone = Object.keys(state.assignments).filter((uid) => !podUids.has(uid));
      if (gone.length === 0) return;
      const freed = gone.flatMap((uid) => Object.values(state.assignments[uid]!).flat());
      const assignments = Object.fromEntries(Object.entries(state.assignments).filter(([uid]) => !gone.includes(uid)));
      state = { defaultSet: cpuSet([...state.defaultSet, ...freed]), assignments };
      await save();
    },
    async start(cpus) {
      machine = cpus;
      reserved = reservedOf(cpus, config);
      adopt(await readCpuState(deps.files, path, 'static'));
      await save();
    },
  };
}

function reservedOf(cpus: readonly HostCpu[], { reservedCpus, reservedMilliCpu }: CpuManagerConfig): CpuSet {
  const all = cpuSet(cpus.map(({ cpu }) => cpu));
  if (reservedCpus.length > 0) {
    if (without(reservedCpus, all).length > 0)
      throw new Error(`reservedSystemCPUs ${formatCpuSet(reservedCpus)} are not all among ${formatCpuSet(all)}`);
    return reservedCpus;
  }
  const count = Math.ceil(reservedMilliCpu / 1000);
  if (count === 0)
    throw new Error(
      'the CPU manager static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero',
    );
  return takeCpus(cpus, all, count);
}

function containersOf(pod: Pod): readonly Container[] {
  return [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
}

/** Whole processors a container is to have alone; 0: it shares. */
function exclusiveCount(pod: Pod, container: Container): number {
  if (podQosClass(pod) !== 'Guaranteed' || pod.spec?.resources !== undefined) return 0;
  const milli = quantityMilliValue(
    container.resources?.requests?.['cpu'] ?? container.resources?.limits?.['cpu'] ?? '0',
  );
  return milli % 1000 === 0 ? milli / 1000 : 0;
}

function podCount(pod: Pod): number {
  let [sidecars, init] = [0, 0];
  for (const container of pod.spec?.initContainers ?? []) {
    const count = exclusiveCount(pod, container);
    if (container.restartPolicy === 'Always') sidecars += count;
    else init = Math.max(init, sidecars + count);
  }
  const sum = (pod.spec?.containers ?? []).reduce((total, each) => total + exclusiveCount(pod, each), sidecars);
  return Math.max(init, sum);
}

/** Processors of cores that are free as a whole. */
function wholeCores(machine: readonly HostCpu[], free: CpuSet): number {
  const ofCore = (a: HostCpu): readonly HostCpu[] => machine.filter((b) => a.socket === b.socket && a.core === b.core);
  return machine.filter((cpu) => ofCore(cpu).every((sibling) => free.includes(sibling.cpu))).length;
}
