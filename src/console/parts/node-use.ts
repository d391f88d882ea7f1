/** The use of processors and memory of all nodes. The metrics API is polled while it is shown. */
import { signal } from '@preact/signals';
import type { Node } from '../../api/gen/core-v1.ts';
import { quantityAsFloat } from '../../api/quantity.ts';
import { ApiError, sendJson } from '../api/http.ts';

/** Fractions of the allocatable amounts, 0 to 1. */
export interface NodeUse {
  readonly name: string;
  readonly cpu: number;
  readonly memory: number;
}

/** The cluster's fractions at one moment. */
export interface UseSample {
  readonly cpu: number;
  readonly memory: number;
}

interface NodeMetrics {
  readonly metadata: { readonly name: string };
  readonly usage: { readonly cpu: string; readonly memory: string };
}

interface Amounts {
  readonly cpu: number;
  readonly memory: number;
}

const PERIOD_MS = 10_000;
/** The samples of five minutes. */
const SAMPLES = 30;
/** The limit of nodes. In larger clusters reading all metrics for a sum would be expensive for the server. */
const MOST_NODES = 500;

/** The samples so far; undefined before the first response, and without metrics. */
export class NodeUseSource {
  readonly nodes = signal<readonly NodeUse[] | undefined>(undefined);
  readonly samples = signal<readonly UseSample[]>([]);
  #allocatable = new Map<string, Amounts>();

  /** Polls until the returned function is called. */
  start(): () => void {
    let isOver = false;
    const ask = (): void => void this.#ask(() => isOver);
    const timer = setInterval(ask, PERIOD_MS);
    ask();
    return () => {
      isOver = true;
      clearInterval(timer);
    };
  }

  async #ask(isOver: () => boolean): Promise<void> {
    if (document.hidden) return;
    try {
      const { items } = await sendJson<{ items: readonly NodeMetrics[] }>(`/apis/metrics.k8s.io/v1beta1/nodes`);
      if (isOver() || items.length > MOST_NODES) return;
      if (items.some(({ metadata: { name } }) => !this.#allocatable.has(name))) await this.#readNodes();
      this.#take(items);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error; // there are no metrics, or the user may not read them: the last ones stay
    }
  }

  async #readNodes(): Promise<void> {
    const { items } = await sendJson<{ items: readonly Node[] }>('/api/v1/nodes');
    this.#allocatable = new Map(
      items.map(({ metadata, status }) => [
        metadata.name!,
        amountsOf(status?.allocatable?.['cpu'], status?.allocatable?.['memory']),
      ]),
    );
  }

  #take(items: readonly NodeMetrics[]): void {
    const total = { cpu: 0, memory: 0, ofCpu: 0, ofMemory: 0 };
    const nodes = items.map(({ metadata: { name }, usage }): NodeUse => {
      const used = amountsOf(usage.cpu, usage.memory);
      const allocatable = this.#allocatable.get(name) ?? { cpu: 0, memory: 0 };
      total.cpu += used.cpu;
      total.memory += used.memory;
      total.ofCpu += allocatable.cpu;
      total.ofMemory += allocatable.memory;
      return { name, cpu: share(used.cpu, allocatable.cpu), memory: share(used.memory, allocatable.memory) };
    });
    this.nodes.value = nodes.sort((a, b) => Math.max(b.cpu, b.memory) - Math.max(a.cpu, a.memory));
    const sample = { cpu: share(total.cpu, total.ofCpu), memory: share(total.memory, total.ofMemory) };
    this.samples.value = [...this.samples.value, sample].slice(-SAMPLES);
  }
}

function amountsOf(cpu = '0', memory = '0'): Amounts {
  return { cpu: quantityAsFloat(cpu), memory: quantityAsFloat(memory) };
}

function share(used: number, allocatable: number): number {
  return allocatable === 0 ? 0 : Math.min(1, used / allocatable);
}
