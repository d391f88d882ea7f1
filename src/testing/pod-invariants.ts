/**
 * Invariants of pods at every moment of every run, whatever faults occur: a bound pod stays on its node, restart counts do not
 * decrease, a final phase stays, no container of a pod runs twice on a machine. In addition, the demands of a scenario. They are
 * checked at every change of a pod; violations are reported at the end of the next step.
 */
import { Pods } from '../api/gen/resources.ts';
import type { Pod } from '../api/gen/core-v1.ts';
import { parseLabelSelector } from '../api/label-selector-parser.ts';
import { isPodPhaseTerminal } from '../api/pod-phase.ts';
import { isPodReady, isPodActive } from '../component-helpers/pods.ts';
import type { Cluster } from './cluster.ts';

/** Demands of a scenario on the pods that a selector matches. */
export interface PodDemand {
  readonly selector: string;
  /** The minimum number of pods that are Ready and not terminating. */
  readonly minReady?: number;
  /** The maximum number of pods that are neither terminating nor ended. */
  readonly maxActive?: number;
}

/** Checks the invariants of a cluster's pods. */
export class PodInvariants {
  readonly #cluster: Cluster;
  readonly #broken: string[] = [];
  readonly #demands = new Map<string, PodDemand>();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
    cluster.onPodChange((pod, old) => this.#onChange(pod, old));
  }

  /** Adds a demand. */
  demand(name: string, demand: PodDemand): void {
    this.#demands.set(name, demand);
    this.#checkDemands();
  }

  /** Removes a demand. */
  release(name: string): void {
    this.#demands.delete(name);
  }

  /** Throws the violations since the last call. */
  check(): void {
    this.#checkRuntimes();
    const [first, ...rest] = this.#broken.splice(0);
    if (first !== undefined)
      throw new Error(`invariant broken: ${first}${rest.length > 0 ? ` (and ${rest.length} more)` : ''}`);
  }

  #onChange(pod: Pod | undefined, old: Pod | undefined): void {
    if (pod !== undefined && old !== undefined && pod.metadata.uid === old.metadata.uid) this.#compare(pod, old);
    this.#checkDemands();
  }

  #compare(pod: Pod, old: Pod): void {
    const name = `${pod.metadata.namespace}/${pod.metadata.name}`;
    const [before, now] = [old.status?.phase ?? '', pod.status?.phase ?? ''];
    if (old.spec?.nodeName !== undefined && pod.spec?.nodeName !== old.spec.nodeName)
      this.#note(`pod ${name} moved from ${old.spec.nodeName} to ${pod.spec?.nodeName}`);
    if (isPodPhaseTerminal(before) && now !== before) this.#note(`pod ${name} went from ${before} to ${now}`);
    for (const { name: container, restartCount } of pod.status?.containerStatuses ?? []) {
      const earlier = old.status?.containerStatuses?.find((status) => status.name === container);
      if (earlier !== undefined && restartCount < earlier.restartCount)
        this.#note(
          `container ${container} of pod ${name}: restarts fell from ${earlier.restartCount} to ${restartCount}`,
        );
    }
  }

  #checkDemands(): void {
    if (this.#demands.size === 0) return;
    const pods = this.#cluster.peek(Pods);
    for (const [name, { selector, minReady, maxActive }] of this.#demands) {
      const matcher = parseLabelSelector(selector);
      const active = pods.filter((pod) => isPodActive(pod) && matcher.matches(pod.metadata.labels));
      const ready = active.filter(isPodReady).length;
      if (minReady !== undefined && ready < minReady) this.#note(`${name}: ${ready} pods ready, ${minReady} demanded`);
      if (maxActive !== undefined && active.length > maxActive)
        this.#note(`${name}: ${active.length} pods active, ${maxActive} allowed`);
    }
  }

  #checkRuntimes(): void {
    for (const node of this.#cluster.nodes.names()) {
      const seen = new Set<string>();
      for (const { state, init } of this.#cluster.nodes.runtime(node).containers.values()) {
        if (state !== 'CONTAINER_RUNNING') continue;
        const key = `${init.config.labels?.['io.kubernetes.pod.uid']}/${init.config.metadata?.name}`;
        if (seen.has(key))
          this.#note(
            `container ${init.config.metadata?.name} of pod ${init.config.labels?.['io.kubernetes.pod.name']} runs twice on ${node}`,
          );
        seen.add(key);
      }
    }
  }

  #note(text: string): void {
    this.#broken.push(text);
  }
}
