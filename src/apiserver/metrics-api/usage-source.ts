/**
 * What nodes and pods use, from the kubelets' summaries, read when somebody asks. Upstream: metrics-server's scraper, which
 * asks every 15 s whether anybody wants to know or not.
 */
import { Nodes } from '../../api/gen/resources.ts';
import { stepByStep } from '../../base/steps.ts';
import { jsonSteps } from '../../api/codec/json-steps.ts';
import { answerText } from '../../platform/answer-text.ts';
import { isNodeReady } from '../../component-helpers/nodes.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { Net, TlsOptions } from '../../platform/net.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import { kubeletBaseUrl } from '../streaming/kubelet-location.ts';

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

export interface UsageSourceDeps {
  readonly objects: ObjectStore;
  readonly net: Pick<Net, 'http'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly kubeletTls: () => TlsOptions;
  /** Kinds of node addresses in the order they are tried; absent: as for logs. */
  readonly addressTypes?: readonly string[] | undefined;
}

/** Readings of all nodes. */
export interface UsageSource {
  /** By node; nodes that do not answer are left out. Readings are at most ten seconds old. */
  read(): Promise<ReadonlyMap<string, NodeUsage>>;
}

const MAX_AGE_MS = 10_000;
const AT_ONCE = 32;
const TIMEOUT_MS = 10_000;
/** The largest summary that is read. Some 500 containers with all their readings have a tenth of it. */
const MAX_BYTES = 8 * 1024 * 1024;
/** A volume has some 12, a container some 30: as many of either as so many bytes tell of. */
const MAX_PARTS = 500_000;
/** A rate needs two readings: after the first one ever, another follows. */
const SECOND_READING_MS = 1100;

interface CpuAndMemory {
  readonly cpu?: { readonly time: string; readonly usageNanoCores?: number };
  readonly memory?: { readonly workingSetBytes?: number };
}

interface Summary {
  readonly node?: CpuAndMemory;
  readonly pods?: readonly {
    readonly podRef: { readonly namespace: string; readonly name: string };
    readonly containers?: readonly (CpuAndMemory & { readonly name: string })[];
  }[];
}

/** Makes it; nothing is read before the first call. */
export function createUsageSource(deps: UsageSourceDeps): UsageSource {
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

async function readNodes(deps: UsageSourceDeps, names: readonly string[]): Promise<Map<string, NodeUsage>> {
  const found = new Map<string, NodeUsage>();
  const waiting = [...names];
  const work = async (): Promise<void> => {
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
      try {
        found.set(name, usageOf(await readSummary(deps, name)));
      } catch (error) {
        deps.log.warn('no usage of a node', { node: name, err: error });
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, names.length) }, work));
  return found;
}

async function readSummary(deps: UsageSourceDeps, node: string): Promise<Summary> {
  const { objects, net, clock, kubeletTls, addressTypes } = deps;
  const answer = await net.http({
    method: 'GET',
    url: `${kubeletBaseUrl(objects, node, addressTypes)}/stats/summary?only_cpu_and_memory=true`,
    tls: kubeletTls(),
    timeoutMs: TIMEOUT_MS,
  });
  const text = await answerText(answer, MAX_BYTES);
  if (answer.status !== 200) throw new Error(`the kubelet answered ${answer.status}: ${text.slice(0, 200)}`);
  return (await stepByStep(jsonSteps(text, { maxParts: MAX_PARTS }), () => clock.yield())) as Summary;
}

function usageOf({ node, pods = [] }: Summary): NodeUsage {
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
