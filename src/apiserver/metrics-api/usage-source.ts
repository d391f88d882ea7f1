/**
 * What nodes and pods use, from the kubelets' summaries, read when somebody asks. Upstream: metrics-server's scraper, which
 * asks every 15 s whether anybody wants to know or not.
 */
import { Nodes } from '../../api/gen/resources.ts';
import { isNodeReady } from '../../component-helpers/nodes.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import { type CpuAndMemory, type NodeSummary, readSummaries, type SummaryDeps } from './node-summaries.ts';

/** A reading of a node or a container. */
export interface Usage {
  readonly nanoCores: number;
  readonly memoryBytes: number;
  /** RFC 3339. */
  readonly time: string;
}

export interface NodeUsage {
  readonly node?: Usage;
  /** `namespace/name` → containers by name. A pod with a container that has not been read twice is not among them. */
  readonly pods: ReadonlyMap<string, ReadonlyMap<string, Usage>>;
}

/** Readings of all nodes. */
export interface UsageSource {
  /** By node; nodes that do not answer are left out. Readings are at most ten seconds old. */
  read(): Promise<ReadonlyMap<string, NodeUsage>>;
}

const MAX_AGE_MS = 10_000;
/** A rate needs two readings: after the first one ever, another follows. */
const SECOND_READING_MS = 1100;

/** Makes it; nothing is read before the first call. */
export function createUsageSource(deps: SummaryDeps): UsageSource {
  const { clock } = deps;
  let last: { readonly atMs: number; readonly usage: ReadonlyMap<string, NodeUsage> } | undefined;
  let reading: Promise<ReadonlyMap<string, NodeUsage>> | undefined;
  async function readAll(): Promise<ReadonlyMap<string, NodeUsage>> {
    const usage = await readNodes(deps, nodeNames(deps.objects));
    const fresh = [...usage].filter(([, { node }]) => node === undefined).map(([name]) => name);
    if (fresh.length > 0) {
      await clock.sleep(SECOND_READING_MS);
      for (const [name, found] of await readNodes(deps, fresh)) usage.set(name, found);
    }
    last = { atMs: clock.monotonicMs(), usage };
    return usage;
  }
  return {
    read() {
      if (last !== undefined && clock.monotonicMs() - last.atMs < MAX_AGE_MS) return Promise.resolve(last.usage);
      reading ??= readAll().finally(() => {
        reading = undefined;
      });
      return reading;
    },
  };
}

function nodeNames(objects: ObjectStore): string[] {
  return objects
    .list(Nodes)
    .filter(isNodeReady)
    .map(({ metadata }) => metadata.name);
}

async function readNodes(deps: SummaryDeps, names: readonly string[]): Promise<Map<string, NodeUsage>> {
  const found = new Map<string, NodeUsage>();
  await readSummaries(deps, names, (name, summary) => {
    found.set(name, usageOf(summary));
  });
  return found;
}

function usageOf({ node, pods = [] }: NodeSummary): NodeUsage {
  const found = new Map<string, ReadonlyMap<string, Usage>>();
  for (const { podRef, containers = [] } of pods) {
    const readings = containers.map((container) => [container.name, readingOf(container)] as const);
    const complete = readings.flatMap(([name, usage]) => (usage === undefined ? [] : [[name, usage] as const]));
    if (complete.length === 0 || complete.length < readings.length) continue;
    found.set(`${podRef.namespace}/${podRef.name}`, new Map(complete));
  }
  const own = node === undefined ? undefined : readingOf(node);
  return { pods: found, node: own };
}

function readingOf({ cpu, memory }: CpuAndMemory): Usage | undefined {
  if (cpu?.usageNanoCores === undefined || memory?.workingSetBytes === undefined) return undefined;
  return { nanoCores: cpu.usageNanoCores, memoryBytes: memory.workingSetBytes, time: cpu.time };
}
