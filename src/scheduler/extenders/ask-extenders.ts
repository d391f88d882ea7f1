/**
 * Calls the extenders: one after another to filter and to process preemption, all at once to score. A failure of an
 * ignorable extender has no effect. Upstream: findNodesThatPassExtenders, prioritizeNodes,
 * preemption.Evaluator.callExtenders.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { NodeInfo, Snapshot } from '../cache/node-info.ts';
import type { PostFilterInput, ProposedVictims } from '../framework/plugin.ts';
import type { Status } from '../framework/status.ts';
import type { Log } from '../../platform/log.ts';
import type { Extender, ExtenderVerdict } from './extender.ts';

/** The pod and the nodes that extenders are asked about. */
export interface ExtenderQuestion {
  readonly extenders: readonly Extender[];
  readonly pod: Stored<Pod>;
  readonly nodes: readonly NodeInfo[];
  readonly signal: AbortSignal;
  readonly log: Log;
}

/** The nodes that pass all extenders. Rejects when an extender that is not ignorable fails. */
export async function filterByExtenders(question: ExtenderQuestion): Promise<ExtenderVerdict> {
  const { extenders, pod, signal, log } = question;
  const statuses = new Map<string, Status>();
  let feasible = question.nodes;
  for (const extender of extenders) {
    if (extender.config.filterVerb === '' || feasible.length === 0 || !extender.isInterested(pod)) continue;
    try {
      const verdict = await extender.filter(pod, feasible, signal);
      ({ feasible } = verdict);
      for (const [node, status] of verdict.statuses) statuses.set(node, status);
    } catch (error) {
      if (!extender.config.ignorable) throw error;
      log.warn('skipping extender as it returned error and has ignorable flag set', {
        extender: extender.name,
        err: error,
      });
    }
  }
  return { feasible, statuses };
}

/** Weighted sums of scores by node. An extender that fails adds nothing. */
export async function scoreByExtenders({
  extenders,
  pod,
  nodes,
  signal,
  log,
}: ExtenderQuestion): Promise<ReadonlyMap<string, number>> {
  const sums = new Map<string, number>();
  const asked = extenders.filter((extender) => extender.config.prioritizeVerb !== '' && extender.isInterested(pod));
  await Promise.all(
    asked.map(async (extender) => {
      try {
        for (const [node, score] of await extender.prioritize(pod, nodes, signal))
          sums.set(node, (sums.get(node) ?? 0) + score);
      } catch (error) {
        log.warn('extender failed to score nodes', { extender: extender.name, err: error });
      }
    }),
  );
  return sums;
}

/** The input of the extenders that support preemption. */
export interface PreemptionQuestion extends Omit<ExtenderQuestion, 'nodes'> {
  readonly snapshot: Snapshot;
}

/** The function that PostFilter plugins call to have extenders process their proposal. */
export function extendersInPreemption(
  question: PreemptionQuestion,
): Pick<PostFilterInput, 'checkedByExtenders' | 'askExtenders'> {
  const { extenders, pod } = question;
  const interested = extenders.filter((extender) => extender.isInterested(pod));
  const preempting = interested.filter(({ config }) => config.preemptVerb !== '');
  return {
    checkedByExtenders: interested.length > 0,
    askExtenders:
      preempting.length > 0
        ? (proposed) => processPreemption({ ...question, extenders: preempting }, proposed)
        : undefined,
  };
}

/** The proposed victims that all extenders accept. Rejects when an extender that is not ignorable fails. */
async function processPreemption(question: PreemptionQuestion, proposed: ProposedVictims): Promise<ProposedVictims> {
  const { extenders, pod, snapshot, signal, log } = question;
  let left = proposed;
  for (const extender of extenders) {
    if (left.size === 0) break;
    const { name, config } = extender;
    try {
      const answer = new Map(await extender.preempt(pod, left, { snapshot, signal }));
      for (const [node, { victims }] of answer) {
        if (victims.length > 0) continue;
        if (!config.ignorable) throw new Error(`expected at least one victim pod on node "${node}"`);
        answer.delete(node);
        log.warn('ignoring node without victims', { node, extender: name });
      }
      left = answer;
    } catch (error) {
      if (!config.ignorable) throw error;
      log.warn('skipped extender as it returned error and has ignorable flag set', { extender: name, err: error });
    }
  }
  return left;
}
