/**
 * The answer to "why is this pod where it is, or nowhere": what the scheduler tells, the API server hands out and the command
 * line shows. The text form is here too, so that tests' failures and the command say the same. No counterpart upstream.
 */
import { appendAll } from '../base/lists.ts';

/** What one plugin said about one node. */
export interface PluginVerdict {
  readonly name: string;
  /** `Unresolvable`: making other pods leave would not help. */
  readonly verdict: 'Passed' | 'Rejected' | 'Unresolvable' | 'Error';
  /** In upstream's words. */
  readonly reasons?: readonly string[];
  /** What exactly is missing. */
  readonly lacks?: readonly string[];
}

/** What one plugin gave one node: `score` is 0 to 100, before the weight. */
export interface PluginScore {
  readonly name: string;
  readonly score: number;
  readonly weight: number;
}

/** One node in one decision. */
export interface NodeVerdict {
  readonly name: string;
  readonly verdict: 'Chosen' | 'Feasible' | 'Rejected' | 'Unresolvable';
  /** Those that filtered; a decision stops at the first rejection, a look on request does not. */
  readonly plugins: readonly PluginVerdict[];
  /** Absent where there was nothing to compare. */
  readonly scores?: readonly PluginScore[];
  readonly totalScore?: number;
}

/** One look at all nodes. */
export interface PodDecision {
  readonly time: string;
  readonly result: 'Scheduled' | 'Unschedulable' | 'Schedulable';
  readonly message: string;
  readonly nodeName?: string;
  readonly nodeCount: number;
  /** The plugin that refused the pod before any node was looked at. */
  readonly rejectedBy?: string;
  /** Plugins that refused nodes, those of the nearest node first; absent where all nodes are in the answer. */
  readonly refusedBy?: readonly string[];
  /** Best first: by score, then by how little is missing. Nodes that were not looked at are not here. */
  readonly nodes: readonly NodeVerdict[];
  /** Nodes that were looked at and are left out, for their number. */
  readonly nodesNotShown?: number;
}

/** Where a pod stands with the scheduler. */
export interface PodWhy {
  readonly apiVersion: 'keelson/v1';
  readonly kind: 'PodWhy';
  readonly metadata: { readonly name: string; readonly namespace: string; readonly uid: string };
  readonly schedulerName: string;
  readonly state: 'Bound' | 'Binding' | 'Active' | 'Backoff' | 'Unschedulable' | 'Gated' | 'Foreign' | 'Finished';
  readonly message: string;
  readonly nodeName?: string;
  readonly queue?: {
    readonly attempts: number;
    readonly waitingSeconds: number;
    readonly nextTrySeconds?: number;
    /** An event wakes the pod only when one of these asked for it. */
    readonly rejectedBy: readonly string[];
  };
  /** The last one still remembered. */
  readonly lastDecision?: PodDecision;
  /** A look at the cluster as it is at this moment, for pods that wait. */
  readonly now?: PodDecision;
}

/** Answers for a pod; undefined: this scheduler knows nothing of it. */
export type ExplainPod = (namespace: string, name: string) => Promise<PodWhy | undefined>;

/** The answer with at most `most` nodes of each decision. */
export function boundedPodWhy(why: PodWhy, most: number): PodWhy {
  const { lastDecision, now } = why;
  return {
    ...why,
    lastDecision: lastDecision && boundedDecision(lastDecision, most),
    now: now && boundedDecision(now, most),
  };
}

function boundedDecision(decision: PodDecision, most: number): PodDecision {
  const { nodes } = decision;
  if (nodes.length <= most) return decision;
  return {
    ...decision,
    refusedBy: refusedBy(decision),
    nodes: nodes.slice(0, most),
    nodesNotShown: nodes.length - most,
  };
}

/** Plugins that refused nodes, those of the nearest node first. */
export function refusedBy({ refusedBy: known, nodes }: PodDecision): readonly string[] {
  return known ?? [...new Set(nodes.flatMap((node) => refusals(node).map(({ name }) => name)))];
}

/** What refused the node. */
export function refusals({ plugins }: NodeVerdict): readonly PluginVerdict[] {
  return plugins.filter(({ verdict }) => verdict !== 'Passed');
}

/** The answer as text, `nodes` nodes at most. */
export function podWhyText(why: PodWhy, nodes: number = 5): string {
  const { metadata, queue } = why;
  const lines = [
    `pod ${metadata.namespace}/${metadata.name}: ${why.state}${why.nodeName === undefined ? '' : ` on ${why.nodeName}`}`,
  ];
  lines.push(`  ${why.message}`);
  if (queue !== undefined) lines.push(`  ${queueText(queue)}`);
  if (why.now !== undefined) appendAll(lines, decisionLines('now', why.now, nodes));
  if (why.lastDecision !== undefined && why.now === undefined)
    appendAll(lines, decisionLines('decision', why.lastDecision, nodes));
  else if (why.lastDecision !== undefined && why.lastDecision.message !== why.message)
    lines.push(`  last decision, ${why.lastDecision.time}: ${why.lastDecision.message}`);
  return `${lines.join('\n')}\n`;
}

function queueText({ attempts, waitingSeconds, nextTrySeconds, rejectedBy }: NonNullable<PodWhy['queue']>): string {
  return [
    `${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}, in the queue for ${waitingSeconds} s`,
    ...(nextTrySeconds === undefined ? [] : [`next try in ${nextTrySeconds} s`]),
    ...(rejectedBy.length === 0 ? [] : [`woken by what changes for ${rejectedBy.join(', ')}`]),
  ].join('; ');
}

function decisionLines(title: string, decision: PodDecision, most: number): string[] {
  const shown = decision.nodes.slice(0, most);
  const rejected = decision.result === 'Unschedulable';
  const more = decision.nodes.length + (decision.nodesNotShown ?? 0) - shown.length;
  return [
    `  ${title}, ${decision.time}: ${decision.message}`,
    ...(shown.length === 0 ? [] : [rejected ? '  nearest nodes:' : '  nodes:']),
    ...shown.flatMap(nodeLines),
    ...(more > 0 ? [`    and ${more} more`] : []),
  ];
}

function nodeLines(node: NodeVerdict): string[] {
  const scores = (node.scores ?? []).map(
    ({ name, score, weight }) => `${name} ${score}${weight === 1 ? '' : ` x ${weight}`}`,
  );
  return [
    `    ${node.name}: ${node.verdict}${node.totalScore === undefined ? '' : `, score ${node.totalScore} (${scores.join(', ')})`}`,
    ...refusals(node).map(
      ({ name, reasons = [], lacks = [] }) => `      ${name}: ${[...reasons, ...lacks].join('; ')}`,
    ),
  ];
}
