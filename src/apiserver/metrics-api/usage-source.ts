/**
 * The usage of nodes and pods from the kubelets' summaries, read on request. Upstream: metrics-server's scraper,
 * which reads every 15 s regardless of requests.
 */
import { Nodes } from '../../api/gen/resources.ts';
import { formatMoment, parseMoment } from '../../api/codec/time-text.ts';
import { isNodeReady } from '../../component-helpers/nodes.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import { type CpuAndMemory, type NodeSummary, readSummaries, type SummaryDeps } from './node-summaries.ts';

/** The usage of a node or a container. */
export interface Usage {
  readonly nanoCores: number;
  readonly memoryBytes: number;
  /** RFC 3339. */
  readonly time: string;
}

export interface NodeUsage {
  readonly node?: Usage;
  /** `namespace/name` → containers by name. Without pods that have a container with fewer than two readings. */
  readonly pods: ReadonlyMap<string, ReadonlyMap<string, Usage>>;
}

/** The usage of all nodes. */
export interface UsageSource {
  /** By node name, without nodes that do not answer. At most ten seconds old. */
  read(): Promise<ReadonlyMap<string, NodeUsage>>;
}

const MAX_AGE_MS = 10_000;
/** A rate needs two readings: the very first one is followed by another after this time. */
const SECOND_READING_MS = 1100;

/** Reads nothing before the first call. */
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

/** Undefined for invalid readings: a node's bad value must not break the lists of all. */
function readingOf({ cpu, memory }: CpuAndMemory): Usage | undefined {
  const [nanoCores, memoryBytes, time] = [cpu?.usageNanoCores, memory?.workingSetBytes, cpu?.time];
  if (!isAmount(nanoCores) || !isAmount(memoryBytes) || typeof time !== 'string') return undefined;
  const moment = parseMoment(time);
  return moment && { nanoCores, memoryBytes, time: formatMoment(moment, 0) };
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER;
}
