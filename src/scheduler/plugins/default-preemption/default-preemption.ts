/**
 * DefaultPreemption: when a pod fits on no node, pods of lower priority are evicted from the node where this does the
 * least damage, and the pod is nominated to it. Upstream: plugins/defaultpreemption and framework/preemption.
 */
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { PodDisruptionBudget } from '../../../api/gen/policy-v1.ts';
import { Pods } from '../../../api/gen/resources.ts';
import { isReason } from '../../../api/status-error.ts';
import { formatTime } from '../../../api/time.ts';
import type { Stored } from '../../../api/object.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Client } from '../../../client/client.ts';
import type { SeriesEventRecorder } from '../../../client/event-series-recorder.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Random } from '../../../platform/random.ts';
import { defaultArgs, type PreemptionArgs } from '../../config/plugin-args.ts';
import { countAlike, fitErrorMessage } from '../../fit-error.ts';
import type { CycleState, PostFilterInput, PostFilterResult, SchedulerPlugin } from '../../framework/plugin.ts';
import { unresolvable, type Status } from '../../framework/status.ts';
import { createCandidateFinder, type FoundCandidates } from './candidates.ts';
import { GuardingBudgets } from './guarding-budgets.ts';
import { bestCandidate, candidateOf, priorityOf, type Candidate } from './victims.ts';

const NAME = 'DefaultPreemption';

export interface PreemptionDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly recorder: SeriesEventRecorder;
  readonly schedulerName: string;
  readonly budgets: () => readonly PodDisruptionBudget[];
}

export function createDefaultPreemption(
  deps: PreemptionDeps,
  args: PreemptionArgs = defaultArgs.preemption,
): SchedulerPlugin {
  const find = createCandidateFinder();
  return {
    name: NAME,
    postFilter(state, pod, input) {
      const why = ineligible(pod, input);
      // An earlier nomination stays.
      if (why !== undefined) return { message: `preemption: ${why}` };
      const { candidates, refused } = findCandidates(deps, { find, args }, { pod, input, state });
      if (candidates.length === 0) return { nominatedNode: '', message: `preemption: ${noCandidates(input, refused)}` };
      const choose = (among: readonly Candidate[]): PostFilterResult => {
        const chosen = bestCandidate(among);
        return {
          nominatedNode: chosen.node,
          victims: chosen.victims.length,
          commit: (signal) => evict(deps, { pod, chosen, input }, signal),
        };
      };
      return input.askExtenders === undefined
        ? choose(candidates)
        : acceptedByExtenders(candidates, input.askExtenders).then(
            (left) => (left.length === 0 ? NO_CANDIDATE_LEFT : choose(left)),
            (error: unknown) => ({ message: `preemption: ${errorMessage(error)}` }),
          );
    },
  };
}

const NO_CANDIDATE_LEFT: PostFilterResult = { message: 'preemption: no candidate node for preemption' };

/** The candidates with the victims that extenders accept. */
async function acceptedByExtenders(
  candidates: readonly Candidate[],
  ask: NonNullable<PostFilterInput['askExtenders']>,
): Promise<Candidate[]> {
  const left = await ask(new Map(candidates.map(({ node, victims, violations }) => [node, { victims, violations }])));
  return [...left].map(([node, { victims, violations }]) => candidateOf(node, victims, violations));
}

/** Victims that were deleted, although the cache may not show it yet. */
const notified = new WeakSet<Stored<Pod>>();

/**
 * Why the pod may not preempt now: victims of its earlier preemption are still terminating. Upstream:
 * PodEligibleToPreemptOthers.
 */
function ineligible(pod: Stored<Pod>, { snapshot, statuses, nominations }: PostFilterInput): string | undefined {
  if (pod.spec?.preemptionPolicy === 'Never') return 'not eligible due to preemptionPolicy=Never.';
  const nominated = nominations.nodeOf(pod) ?? pod.status?.nominatedNodeName ?? '';
  if (nominated === '' || statuses.get(nominated)?.code === 'unresolvable') return undefined;
  const leaving = [...(snapshot.byName(nominated)?.pods.values() ?? [])].some(
    (other) =>
      (other.metadata.deletionTimestamp !== undefined || notified.has(other)) && priorityOf(other) < priorityOf(pod),
  );
  return leaving ? 'not eligible due to a terminating pod on the nominated node.' : undefined;
}

function findCandidates(
  deps: PreemptionDeps,
  { find, args }: { find: ReturnType<typeof createCandidateFinder>; args: PreemptionArgs },
  { pod, input, state }: { pod: Stored<Pod>; input: PostFilterInput; state: CycleState },
): FoundCandidates {
  const { snapshot, statuses, filters, nominations, checkedByExtenders = false } = input;
  let resolvable = 0;
  for (const [{ code }, count] of countAlike(statuses)) if (code === 'unschedulable') resolvable += count;
  if (resolvable === 0) return { candidates: [], refused: new Map() };
  const share = Math.floor((resolvable * args.minCandidateNodesPercentage) / 100);
  const enough = Math.min(resolvable, Math.max(args.minCandidateNodesAbsolute, share));
  const offset = deps.random.int(snapshot.nodes.length);
  const search = { pod, state, filters, nominations, budgets: new GuardingBudgets(deps.budgets()) };
  return find({ ...search, snapshot, statuses, checkedByExtenders, offset, enough });
}

function noCandidates({ snapshot }: PostFilterInput, found: ReadonlyMap<string, Status>): string {
  const notHelpful = unresolvable(NAME, 'Preemption is not helpful for scheduling');
  const statuses = new Map(snapshot.nodes.map((node) => [node.name, found.get(node.name) ?? notHelpful]));
  return fitErrorMessage({ nodeCount: snapshot.nodes.length, statuses });
}

async function evict(
  deps: PreemptionDeps,
  { pod, chosen, input }: { pod: Stored<Pod>; chosen: Candidate; input: PostFilterInput },
  signal: AbortSignal,
): Promise<void> {
  await Promise.all(chosen.victims.map((victim) => evictOne(deps, { pod, victim, node: chosen.node }, signal)));
  const pods = deps.client.resource(Pods);
  // Pods of lower priority that are nominated to this node lose their nomination.
  for (const { metadata, spec } of input.nominations.on(chosen.node)) {
    if ((spec?.priority ?? 0) >= priorityOf(pod)) continue;
    const patch = { metadata: { uid: metadata.uid }, status: { nominatedNodeName: null } };
    await ignoringGone(
      pods.patch(
        { namespace: metadata.namespace, name: metadata.name },
        { type: 'merge', patch },
        { subresource: 'status', signal },
      ),
    );
  }
}

async function evictOne(
  deps: PreemptionDeps,
  { pod, victim, node }: { pod: Stored<Pod>; victim: Stored<Pod>; node: string },
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name, uid } = victim.metadata;
  if (victim.metadata.deletionTimestamp !== undefined) return;
  const pods = deps.client.resource(Pods);
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'PreemptionByScheduler',
    message: `${deps.schedulerName}: preempting to accommodate a higher priority pod`,
    lastTransitionTime: formatTime(deps.clock.nowMs()),
  };
  const before = victim.status?.conditions?.find(({ type }) => type === condition.type);
  // A scheduler that stopped before the deletion has written the condition already.
  if (before?.status !== 'True' || before.reason !== condition.reason || before.message !== condition.message)
    await ignoringGone(
      pods.patch(
        { namespace, name },
        { type: 'strategic', patch: { metadata: { uid }, status: { conditions: [condition] } } },
        { subresource: 'status', signal },
      ),
    );
  await ignoringGone(
    pods.delete({ namespace, name }, { preconditions: uid === undefined ? undefined : { uid }, signal }),
  );
  notified.add(victim);
  deps.recorder.eventf({
    regarding: victim,
    related: pod,
    type: 'Normal',
    reason: 'Preempted',
    action: 'Preempting',
    note: `Preempted by pod ${pod.metadata.uid} on node ${node}`,
  });
}

async function ignoringGone(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!isReason(error, 'NotFound', 'Conflict')) throw error;
  }
}
