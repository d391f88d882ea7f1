/**
 * The answer to "why is this pod where it is, or nowhere": from the scheduler, served by the API server, shown by the
 * command line. The text form is here too, so that test failures and the command show the same. No counterpart
 * upstream.
 */
import { appendAll } from '../base/lists.ts';

/** The verdict of one plugin on one node. */
export interface PluginVerdict {
  readonly name: string;
  /** `Unresolvable`: removing other pods would not help. */
  readonly verdict: 'Passed' | 'Rejected' | 'Unresolvable' | 'Error';
  /** Upstream's messages. */
  readonly reasons?: readonly string[];
  /** What the node lacks, in detail. */
  readonly lacks?: readonly string[];
}

/** The score of one plugin for one node: `score` is 0 to 100, before the weight. */
export interface PluginScore {
  readonly name: string;
  readonly score: number;
  readonly weight: number;
}

/** One node in one decision. */
export interface NodeVerdict {
  readonly name: string;
  readonly verdict: 'Chosen' | 'Feasible' | 'Rejected' | 'Unresolvable';
  /** The plugins that filtered the node; a decision stops at the first rejection, an evaluation on request does not. */
  readonly plugins: readonly PluginVerdict[];
  /** Absent when there was only one node to choose from. */
  readonly scores?: readonly PluginScore[];
  readonly totalScore?: number;
}

/** An evaluation of all nodes. */
export interface PodDecision {
  readonly time: string;
  readonly result: 'Scheduled' | 'Unschedulable' | 'Schedulable';
  readonly message: string;
  readonly nodeName?: string;
  readonly nodeCount: number;
  /** The plugin that rejected the pod before any node was evaluated. */
  readonly rejectedBy?: string;
  /** Plugins that rejected nodes, those of the nearest node first; absent where `nodes` has all nodes. */
  readonly refusedBy?: readonly string[];
  /** The best first: by score, then by how little is missing. Without nodes that were not evaluated. */
  readonly nodes: readonly NodeVerdict[];
  /** How many evaluated nodes are left out. */
  readonly nodesNotShown?: number;
}

/** The state of a pod in the scheduler. */
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
    /** The plugins one of whose events makes the pod schedulable again. */
    readonly rejectedBy: readonly string[];
  };
  /** The last decision still remembered. */
  readonly lastDecision?: PodDecision;
  /** An evaluation of the present cluster, for waiting pods. */
  readonly now?: PodDecision;
}

/** The answer for a pod; undefined: unknown to this scheduler. */
export type ExplainPod = (namespace: string, name: string) => Promise<PodWhy | undefined>;

/** The answer with at most `most` nodes per decision. */
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

/** Plugins that rejected nodes, those of the nearest node first. */
export function refusedBy({ refusedBy: known, nodes }: PodDecision): readonly string[] {
  return known ?? [...new Set(nodes.flatMap((node) => refusals(node).map(({ name }) => name)))];
}

/** The plugins that rejected the node. */
export function refusals({ plugins }: NodeVerdict): readonly PluginVerdict[] {
  return plugins.filter(({ verdict }) => verdict !== 'Passed');
}

/** The answer as text, with at most `nodes` nodes. */
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
