/** The kubelets' summaries of their nodes: processor, memory and network. Upstream: the kubelet's `/stats/summary`. */
import { jsonSteps } from '../../api/codec/json-steps.ts';
import { stepByStep } from '../../base/steps.ts';
import { answerText } from '../../platform/answer-text.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { Net, TlsOptions } from '../../platform/net.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import { kubeletBaseUrl } from '../streaming/kubelet-location.ts';

export interface SummaryDeps {
  readonly objects: ObjectStore;
  readonly net: Pick<Net, 'http'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly kubeletTls: () => TlsOptions;
  /** Kinds of node addresses in the order they are tried; absent: as for logs. */
  readonly addressTypes?: readonly string[] | undefined;
}

export interface CpuAndMemory {
  readonly cpu?: { readonly time: string; readonly usageNanoCores?: number | undefined };
  readonly memory?: { readonly workingSetBytes?: number | undefined };
}

/** What is read of a node, a pod or a container. */
export interface SummaryPart extends CpuAndMemory {
  /** Upstream's kubelets leave it out of summaries of processor and memory alone. */
  readonly network?: { readonly rxBytes?: number; readonly txBytes?: number };
}

export interface SummaryPod extends SummaryPart {
  readonly podRef: { readonly namespace: string; readonly name: string; readonly uid?: string };
  readonly containers?: readonly (CpuAndMemory & { readonly name: string })[];
}

export interface NodeSummary {
  readonly node?: SummaryPart;
  readonly pods?: readonly SummaryPod[];
}

const AT_ONCE = 32;
const TIMEOUT_MS = 10_000;
/** The largest summary that is read. Some 500 containers with all their readings have a tenth of it. */
const MAX_BYTES = 8 * 1024 * 1024;
/** A volume has some 12, a container some 30: the most of either that this number of bytes can describe. */
const MAX_PARTS = 500_000;

/** Reads the summaries of these nodes, a few at once, and hands each on. Nodes that do not answer, or make no sense, are left out and logged. */
export async function readSummaries(
  deps: SummaryDeps,
  names: readonly string[],
  visit: (node: string, summary: NodeSummary) => void | Promise<void>,
): Promise<void> {
  const waiting = [...names];
  const work = async (): Promise<void> => {
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
      try {
        await visit(name, await readSummary(deps, name));
      } catch (error) {
        deps.log.warn('no usage of a node', { node: name, err: error });
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, names.length) }, work));
}

async function readSummary(deps: SummaryDeps, node: string): Promise<NodeSummary> {
  const { objects, net, clock, kubeletTls, addressTypes } = deps;
  const answer = await net.http({
    method: 'GET',
    url: `${kubeletBaseUrl(objects, node, addressTypes)}/stats/summary?only_cpu_and_memory=true`,
    tls: kubeletTls(),
    timeoutMs: TIMEOUT_MS,
  });
  const text = await answerText(answer, MAX_BYTES);
  if (answer.status !== 200) throw new Error(`the kubelet answered ${answer.status}: ${text.slice(0, 200)}`);
  return (await stepByStep(jsonSteps(text, { maxParts: MAX_PARTS }), () => clock.yield())) as NodeSummary;
}
