/** Reads the kubelets' summaries: processor, memory and network. Upstream: the kubelet's `/stats/summary`. */
import { jsonSteps } from '../../api/codec/json-steps.ts';
import { stepByStep } from '../../base/steps.ts';
import { answerText } from '../../platform/answer-text.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { Net } from '../../platform/net.ts';
import { type KubeletAccess, kubeletTarget } from '../streaming/kubelet-target.ts';

export interface SummaryDeps extends KubeletAccess {
  readonly net: Pick<Net, 'http'>;
  readonly clock: Clock;
  readonly log: Log;
}

export interface CpuAndMemory {
  readonly cpu?: { readonly time: string; readonly usageNanoCores?: number | undefined };
  readonly memory?: { readonly workingSetBytes?: number | undefined };
}

/** The fields read of a node, a pod or a container. */
export interface SummaryPart extends CpuAndMemory {
  /** Upstream's kubelets omit it from summaries with only processor and memory. */
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
/** The size limit of a summary. One of some 500 containers has a tenth of it. */
const MAX_BYTES = 8 * 1024 * 1024;
/** The number of JSON values (about 12 per volume, 30 per container) that `MAX_BYTES` can hold. */
const MAX_PARTS = 500_000;

/**
 * Reads the summaries of these nodes, a few concurrently, and passes each on. Nodes without a valid answer are left
 * out and logged.
 */
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
        deps.log.warn('Failed to read the usage of a node', { node: name, err: error });
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, names.length) }, work));
}

async function readSummary(deps: SummaryDeps, node: string): Promise<NodeSummary> {
  const { net, clock } = deps;
  const { base, tls } = kubeletTarget(deps, node);
  const answer = await net.http({
    method: 'GET',
    url: `${base}/stats/summary?only_cpu_and_memory=true`,
    tls,
    timeoutMs: TIMEOUT_MS,
  });
  const text = await answerText(answer, MAX_BYTES);
  if (answer.status !== 200) throw new Error(`the kubelet answered ${answer.status}: ${text.slice(0, 200)}`);
  return (await stepByStep(jsonSteps(text, { maxParts: MAX_PARTS }), () => clock.yield())) as NodeSummary;
}
