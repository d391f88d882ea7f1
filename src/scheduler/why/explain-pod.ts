/**
 * Explains the state of a pod: its place in the queue, the last decision about it, and for pending pods an evaluation
 * of the current cluster.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { isPodPhaseTerminal } from '../../api/pod-phase.ts';
import type { PodWhy } from '../../component-helpers/pod-why.ts';
import type { SchedulerCache } from '../cache/scheduler-cache.ts';
import type { Nominations } from '../framework/plugin.ts';
import type { Profile } from '../framework/profile.ts';
import type { QueuePlace, SchedulingQueue } from '../queue/contract.ts';
import type { DecisionLog } from './decision-log.ts';
import { type ExplainInput, explainNow, podDecisionOf } from './explain-nodes.ts';

/** The queue, decisions and profiles that an explanation is based on. */
export interface ExplainDeps {
  /** The profile of a scheduler name; undefined for other schedulers. */
  readonly profileOf: (schedulerName: string) => Profile | undefined;
  readonly cache: SchedulerCache;
  readonly queue: SchedulingQueue;
  readonly decisions: DecisionLog;
  readonly nominations: Nominations;
  readonly clock: ExplainInput['clock'];
}

export async function explainPod(deps: ExplainDeps, pod: Stored<Pod>): Promise<PodWhy> {
  const { name, namespace, uid } = pod.metadata;
  const schedulerName = pod.spec?.schedulerName ?? 'default-scheduler';
  const decision = deps.decisions.last(uid);
  const place = deps.queue.place(uid);
  const nodeName = pod.spec?.nodeName ?? (deps.cache.isAssumed(uid) ? deps.cache.nodeOf(uid) : undefined);
  const profile = deps.profileOf(schedulerName);
  const lastDecision = decision === undefined ? undefined : podDecisionOf(decision);
  const stands = stateOf(pod, { nodeName, foreign: profile === undefined, place });
  const waits =
    profile !== undefined &&
    (stands.state === 'Unschedulable' || stands.state === 'Backoff' || stands.state === 'Active');
  const now = waits
    ? await explainNow({
        profile,
        pod,
        snapshot: deps.cache.snapshot(),
        nominations: deps.nominations,
        clock: deps.clock,
      })
    : undefined;
  const message =
    waits && deps.decisions.waitingMessage(uid) !== undefined ? deps.decisions.waitingMessage(uid) : undefined;
  return {
    apiVersion: 'keelson/v1',
    kind: 'PodWhy',
    metadata: { name, namespace, uid },
    schedulerName,
    state: stands.state,
    message: message ?? stands.message,
    nodeName: nodeName === undefined || nodeName === '' ? undefined : nodeName,
    queue: place && queueOf(place),
    lastDecision,
    now,
  };
}

function queueOf({ attempts, waitingMs, nextTryMs, rejectedBy }: QueuePlace): NonNullable<PodWhy['queue']> {
  return {
    attempts,
    waitingSeconds: Math.round(waitingMs / 1000),
    nextTrySeconds: nextTryMs === undefined ? undefined : Math.ceil(nextTryMs / 1000),
    rejectedBy: [...rejectedBy].sort(),
  };
}

function stateOf(
  pod: Stored<Pod>,
  { nodeName, foreign, place }: { nodeName: string | undefined; foreign: boolean; place: QueuePlace | undefined },
): Pick<PodWhy, 'state' | 'message'> {
  const phase = pod.status?.phase;
  if (isPodPhaseTerminal(phase)) return { state: 'Finished', message: `the pod is ${phase}` };
  if ((pod.spec?.nodeName ?? '') !== '') return { state: 'Bound', message: `assigned to ${nodeName}` };
  if (foreign)
    return {
      state: 'Foreign',
      message: `the pod waits for scheduler "${pod.spec?.schedulerName}", which is not this one`,
    };
  if (place?.part === 'gated') return { state: 'Gated', message: place.gate ?? 'held back before the queue' };
  if (nodeName !== undefined) return { state: 'Binding', message: `being bound to ${nodeName}` };
  if (place?.part === 'backoff') return { state: 'Backoff', message: 'tried, and will be again after its back-off' };
  if (place?.part === 'unschedulable') return { state: 'Unschedulable', message: 'waits for a change that could help' };
  return { state: 'Active', message: 'waits for its turn' };
}
