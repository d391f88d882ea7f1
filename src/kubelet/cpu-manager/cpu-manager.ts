/**
 * The static policy: containers of guaranteed pods that request whole CPUs get exclusive ones; all other containers
 * share the rest. Upstream: pkg/kubelet/cm/cpumanager (policy_static.go). With the none policy there is no such
 * manager.
 *
 * Invariants: a CPU is either exclusive to one container or shared, except that containers reuse the CPUs of their
 * pod's init containers; an assignment is on disk before the container is created.
 */
import { podContainers } from '../../api/pod-containers.ts';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { KeyedMutex } from '../../base/keyed-mutex.ts';
import type { Files } from '../../platform/files.ts';
import type { HostCpu } from '../../platform/host.ts';
import {
  AllocationError,
  maskCount,
  masksOver,
  type HintProvider,
  type TopologyHint,
  type TopologyHints,
  hintsOf,
} from '../topology-manager/hints.ts';
import { podUid } from '../types/pod-update.ts';
import { intersection, cpuSet, formatCpuSet, difference, type CpuSet } from './cpu-set.ts';
import { readCpuState, writeCpuState, type CpuState } from './cpu-state.ts';
import { takeCpus, takeCpusDistributed, threadsPerCore } from './take-cpus.ts';
import { exclusiveCount, podCount } from './cpu-requests.ts';

export interface CpuManagerConfig {
  /** CPUs for the system; empty: as many as `reservedMilliCpu` amounts to. */
  readonly reservedCpus: CpuSet;
  /** Processors reserved for the system and the kubelet, in thousandths. */
  readonly reservedMilliCpu: number;
  readonly fullPcpusOnly: boolean;
  readonly distributeAcrossNuma: boolean;
  /** Shared containers may not use reserved CPUs either. */
  readonly strictReservation: boolean;
}

export interface CpuManager extends HintProvider {
  /** Reads the checkpoint of an earlier run. Rejects when it contradicts the machine or the configuration. */
  start(cpus: readonly HostCpu[]): Promise<void>;
  /** Whether a container of the pod gets exclusive processors. */
  concerns(pod: Pod): boolean;
  /** Frees the processors of all other pods. */
  keepOnly(podUids: ReadonlySet<string>): Promise<void>;
  /** The processors that the container may run on. */
  cpusOf(podUid: string, container: string): CpuSet;
  /** Undefined: the container has no exclusive CPUs. */
  exclusiveCpus(podUid: string, container: string): CpuSet | undefined;
  /** All processors but the reserved ones. */
  allocatable(): CpuSet;
}

/** The checkpoint is `cpu_manager_state` in the directory. */
export function createCpuManager(deps: { files: Files }, directory: string, config: CpuManagerConfig): CpuManager {
  return new StaticCpuManager(deps, directory, config);
}

class StaticCpuManager implements CpuManager {
  readonly #deps: { files: Files };
  readonly #config: CpuManagerConfig;
  readonly #path: string;
  readonly #mutex = new KeyedMutex();
  #machine: readonly HostCpu[] = [];
  #reserved: CpuSet = [];
  #state: CpuState = { defaultSet: [], assignments: {} };
  readonly #reusable = new Map<string, CpuSet>();

  constructor(deps: { files: Files }, directory: string, config: CpuManagerConfig) {
    this.#deps = deps;
    this.#config = config;
    this.#path = `${directory}/cpu_manager_state`;
  }

  exclusiveCpus(uid: string, name: string): CpuSet | undefined {
    return this.#state.assignments[uid]?.[name];
  }

  async allocate(pod: Pod, container: Container, hint: TopologyHint): Promise<void> {
    const count = exclusiveCount(pod, container);
    if (count === 0) return;
    const uid = podUid(pod);
    const before = this.exclusiveCpus(uid, container.name);
    if (before !== undefined) return this.#updateReusable(pod, container, before);
    const reusable = this.#reusable.get(uid) ?? [];
    const free = cpuSet([...this.#available(), ...reusable]);
    this.#checkAlignment(count, free);
    const inherited = this.#take(reusable, Math.min(reusable.length, count));
    const more = this.#takeByAffinity(difference(free, inherited), count - inherited.length, hint.affinity);
    const cpus = cpuSet([...inherited, ...more]);
    const assignments = {
      ...this.#state.assignments,
      [uid]: { ...this.#state.assignments[uid], [container.name]: cpus },
    };
    this.#state = { defaultSet: difference(this.#state.defaultSet, cpus), assignments };
    this.#updateReusable(pod, container, cpus);
    await this.#save();
  }

  concerns(pod: Pod): boolean {
    return podContainers(pod.spec).some((container) => exclusiveCount(pod, container) > 0);
  }

  allocatable(): CpuSet {
    return difference(this.#all(), this.#reserved);
  }

  cpusOf(uid: string, name: string): CpuSet {
    return this.exclusiveCpus(uid, name) ?? this.#state.defaultSet;
  }

  topologyHints(pod: Pod, container: Container): TopologyHints {
    const count = exclusiveCount(pod, container);
    if (count === 0) return {};
    const uid = podUid(pod);
    return {
      cpu: this.#cpuHints(count, {
        held: this.exclusiveCpus(uid, container.name),
        reusable: this.#reusable.get(uid) ?? [],
      }),
    };
  }

  podTopologyHints(pod: Pod): TopologyHints {
    const count = podCount(pod);
    if (count === 0) return {};
    const own = cpuSet(Object.values(this.#state.assignments[podUid(pod)] ?? {}).flat());
    return { cpu: this.#cpuHints(count, { held: own.length === 0 ? undefined : own, reusable: [] }) };
  }

  async keepOnly(podUids: ReadonlySet<string>): Promise<void> {
    for (const uid of this.#reusable.keys()) if (!podUids.has(uid)) this.#reusable.delete(uid);
    const gone = Object.keys(this.#state.assignments).filter((uid) => !podUids.has(uid));
    if (gone.length === 0) return;
    const freed = gone.flatMap((uid) => Object.values(this.#state.assignments[uid]!).flat());
    const assignments = Object.fromEntries(
      Object.entries(this.#state.assignments).filter(([uid]) => !gone.includes(uid)),
    );
    this.#state = { defaultSet: cpuSet([...this.#state.defaultSet, ...freed]), assignments };
    await this.#save();
  }

  async start(cpus: readonly HostCpu[]): Promise<void> {
    this.#machine = cpus;
    this.#reserved = reservedOf(cpus, this.#config);
    this.#restore(await readCpuState(this.#deps.files, this.#path, 'static'));
    await this.#save();
  }

  #all(): CpuSet {
    return cpuSet(this.#machine.map(({ cpu }) => cpu));
  }

  #available(): CpuSet {
    return difference(this.#state.defaultSet, this.#reserved);
  }

  #save(): Promise<void> {
    return this.#mutex.run('save', () => writeCpuState(this.#deps.files, this.#path, this.#state));
  }

  #take(from: CpuSet, count: number): CpuSet {
    const groupSize = this.#config.fullPcpusOnly ? threadsPerCore(this.#machine) : 1;
    return this.#config.distributeAcrossNuma
      ? takeCpusDistributed(this.#machine, from, { count, groupSize })
      : takeCpus(this.#machine, from, count);
  }

  /** Takes CPUs of the affinity's NUMA nodes first, then others. */
  #takeByAffinity(free: CpuSet, count: number, affinity: number | undefined): CpuSet {
    if (affinity === undefined) return this.#take(free, count);
    const near = intersection(
      free,
      this.#machine.flatMap(({ cpu, node }) => ((affinity & (1 << node)) === 0 ? [] : cpu)),
    );
    const aligned = this.#take(near, Math.min(near.length, count));
    return cpuSet([...aligned, ...this.#take(difference(free, aligned), count - aligned.length)]);
  }

  #checkAlignment(count: number, free: CpuSet): void {
    if (!this.#config.fullPcpusOnly) return;
    const perCore = threadsPerCore(this.#machine);
    const fail = (text: string): never => {
      throw new AllocationError('SMTAlignmentError', `SMT Alignment Error: ${text}`);
    };
    if (count % perCore !== 0) fail(`requested ${count} cpus not multiple cpus per core = ${perCore}`);
    const whole = wholeCores(this.#machine, free);
    if (count > whole)
      fail(
        `not enough free physical CPUs: available physical CPUs = ${whole}, requested CPUs = ${count}, CPUs per core = ${perCore}`,
      );
  }

  /** Processors of an init container can be reused by the containers after it, each processor once. */
  #updateReusable(pod: Pod, container: Container, cpus: CpuSet): void {
    const uid = podUid(pod);
    const init = (pod.spec?.initContainers ?? []).some(({ name }) => name === container.name);
    const left = this.#reusable.get(uid) ?? [];
    this.#reusable.set(
      uid,
      init && container.restartPolicy !== 'Always' ? cpuSet([...left, ...cpus]) : difference(left, cpus),
    );
  }

  #cpuHints(
    count: number,
    { held, reusable }: { readonly held: CpuSet | undefined; readonly reusable: CpuSet },
  ): TopologyHint[] {
    if (held !== undefined && held.length !== count) return [];
    const free = held ?? this.#available();
    const left = held === undefined ? reusable : [];
    let smallest = Number.POSITIVE_INFINITY;
    const masks: number[] = [];
    for (const mask of masksOver([...new Set(this.#machine.map(({ node }) => node))].sort((a, b) => a - b))) {
      const within = cpuSet(this.#machine.flatMap(({ cpu, node }) => ((mask & (1 << node)) === 0 ? [] : cpu)));
      if (within.length >= count) smallest = Math.min(smallest, maskCount(mask));
      if (intersection(left, within).length < left.length) continue;
      if (intersection(cpuSet([...free, ...left]), within).length >= count) masks.push(mask);
    }
    return hintsOf(masks, smallest);
  }

  #restore(checkpoint: CpuState | undefined): void {
    const shared = this.#config.strictReservation ? difference(this.#all(), this.#reserved) : this.#all();
    this.#state = checkpoint ?? { defaultSet: shared, assignments: {} };
    const allCpus = cpuSet([
      ...this.#state.defaultSet,
      ...Object.values(this.#state.assignments).flatMap((containers) => Object.values(containers).flat()),
      ...(this.#config.strictReservation ? this.#reserved : []),
    ]);
    if (formatCpuSet(allCpus) !== formatCpuSet(this.#all()))
      throw new Error(
        `current set of available CPUs "${formatCpuSet(this.#all())}" doesn't match with CPUs in state "${formatCpuSet(allCpus)}"`,
      );
  }
}

function reservedOf(cpus: readonly HostCpu[], { reservedCpus, reservedMilliCpu }: CpuManagerConfig): CpuSet {
  const all = cpuSet(cpus.map(({ cpu }) => cpu));
  if (reservedCpus.length > 0) {
    if (difference(reservedCpus, all).length > 0)
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

/** The number of CPUs in cores that are entirely free. */
function wholeCores(machine: readonly HostCpu[], free: CpuSet): number {
  const ofCore = (a: HostCpu): readonly HostCpu[] => machine.filter((b) => a.socket === b.socket && a.core === b.core);
  return machine.filter((cpu) => ofCore(cpu).every((sibling) => free.includes(sibling.cpu))).length;
}
