/** One sample of the use of nodes, pods and workloads: computed from the kubelets' summaries, written into rings. */
import type { Clock } from '../../platform/clock.ts';
import type { NodeSummary, SummaryPart, SummaryPod } from '../metrics-api/node-summaries.ts';
import { MEASURES, type Subject, sumOf, type Values } from './measures.ts';
import type { PodRestarts } from './restarts.ts';
import { Rings } from './rings.ts';
import type { TrackedPod, TrackedPods } from './tracked-pods.ts';
import { Traffic } from './traffic.ts';
import type { RequestedCharts } from './wanted.ts';
import type { Workload } from './workloads.ts';

/** Rings with the use of CPU, memory and network, and restarts; the collector has those of requests. */
export class UsageRings {
  readonly nodes = new Rings<Subject>({ measures: MEASURES, most: 500 });
  readonly pods = new Rings<Subject>({ measures: MEASURES, most: 5000 });
  readonly workloads = new Rings<Workload>({ measures: MEASURES, most: 2000 });
}

/** The state between two samples. */
export interface UsageState {
  readonly rings: UsageRings;
  readonly tracked: TrackedPods;
  /** Counters of nodes' interfaces, by the node's name. */
  readonly traffic: Map<string, Traffic>;
  readonly wanted: RequestedCharts;
}

export interface SampleOptions {
  readonly slot: number;
  /** Restarts since the sample before, by the pods' uids. */
  readonly restarts: ReadonlyMap<string, PodRestarts>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

interface WorkloadSum {
  readonly workload: Workload;
  values: Values;
}

export class UsageSample {
  readonly #state: UsageState;
  readonly #options: SampleOptions;
  readonly #restarts: ReadonlyMap<string | undefined, readonly PodRestarts[]>;
  readonly #workloads = new Map<string, WorkloadSum>();
  /** Pods without requests for their charts, which are written last. */
  readonly #others: { readonly pod: TrackedPod; readonly values: Values }[] = [];

  constructor(state: UsageState, options: SampleOptions) {
    this.#state = state;
    this.#options = options;
    this.#restarts = Map.groupBy(options.restarts.values(), ({ pod }) => pod.spec?.nodeName);
  }

  /** Takes one node's summary; `pause` lets others have their turn. */
  async take(name: string, summary: NodeSummary, pause: () => Promise<void> | undefined): Promise<void> {
    const { rings, traffic, tracked } = this.#state;
    const { slot, restarts } = this.#options;
    const reported = new Set<string>();
    for (const part of summary.pods ?? []) {
      const pod = tracked.reported(name, part, slot);
      if (pod === undefined) continue;
      reported.add(pod.uid);
      const use = { ...part, ...sumOfContainers(part) };
      this.#add(pod, this.#values(use, pod.traffic, restarts.get(pod.uid)?.count ?? 0));
      const due = pause();
      if (due !== undefined) await due;
    }
    const restarted = this.#restarts.get(name) ?? [];
    for (const { pod, count } of restarted)
      if (!reported.has(pod.metadata.uid)) this.#add(tracked.stored(pod, slot), [NaN, NaN, NaN, NaN, count]);
    let own = traffic.get(name);
    if (own === undefined) traffic.set(name, (own = new Traffic()));
    const all = restarted.reduce((sum, { count }) => sum + count, 0);
    const values = this.#values(summary.node ?? {}, own, all);
    rings.nodes.write(name, { kind: 'nodes', namespace: '', name }, { slot, values, preferred: true });
  }

  /** Writes the sums. `asked`: the nodes that were; `complete`: they are all. */
  finish(asked: ReadonlySet<string>, complete: boolean): void {
    const { rings, wanted, tracked, traffic } = this.#state;
    const { slot } = this.#options;
    for (const { pod, values } of this.#others) rings.pods.write(pod.uid, pod.subject, { slot, values });
    const sums = [...this.#workloads.values()];
    for (const preferred of [true, false]) {
      for (const { workload, values } of sums) {
        if (wanted.has(workload.uid) !== preferred || !(complete || wanted.covered(workload.uid, asked))) continue;
        rings.workloads.write(workload.uid, workload, { slot, values, preferred });
      }
    }
    for (const each of [rings.nodes, rings.pods, rings.workloads]) each.forgetBefore(slot);
    tracked.forgetUnseen(slot);
    for (const name of traffic.keys()) if (!asked.has(name)) traffic.delete(name);
  }

  #add(pod: TrackedPod, values: Values): void {
    const { rings, wanted } = this.#state;
    const { slot } = this.#options;
    if (wanted.has(pod.uid)) rings.pods.write(pod.uid, pod.subject, { slot, values, preferred: true });
    else this.#others.push({ pod, values });
    for (const workload of pod.workloads) {
      const sum = this.#workloads.get(workload.uid);
      if (sum === undefined) this.#workloads.set(workload.uid, { workload, values });
      else sum.values = sumOf(sum.values, values);
    }
  }

  #values(part: SummaryPart, traffic: Traffic, restarts: number): Values {
    const cores = (part.cpu?.usageNanoCores ?? NaN) / 1e9;
    const { received, sent } = traffic.rates(part.network, this.#options.clock.monotonicMs());
    return [cores, part.memory?.workingSetBytes ?? NaN, received, sent, restarts];
  }
}

/** As metrics-server: a pod uses what its containers use. What is not known of all of them is the pod's own reading. */
function sumOfContainers({ containers = [], ...pod }: SummaryPod): Pick<SummaryPart, 'cpu' | 'memory'> {
  const sum = (values: readonly (number | undefined)[]): number | undefined =>
    values.length === 0 || values.includes(undefined) ? undefined : values.reduce<number>((a, b) => a + b!, 0);
  const usageNanoCores = sum(containers.map(({ cpu }) => cpu?.usageNanoCores)) ?? pod.cpu?.usageNanoCores;
  const workingSetBytes = sum(containers.map(({ memory }) => memory?.workingSetBytes)) ?? pod.memory?.workingSetBytes;
  return { cpu: { time: pod.cpu?.time ?? '', usageNanoCores }, memory: { workingSetBytes } };
}
