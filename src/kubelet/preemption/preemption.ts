/**
 * Admits a critical pod by evicting less important pods until the lacking resources are free. Upstream:
 * pkg/kubelet/preemption/preemption.go.
 *
 * It evicts as few as possible: guaranteed pods only for what all others together cannot free, burstable ones only
 * for what best-effort pods cannot free. Among equals it prefers the pods whose requests are nearest to the need,
 * then the smaller ones. Differs: victims are killed at the same time, not one after the other.
 */
import type { KillPodFunc } from '../pod-workers/kill-pod-now.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { podQosClass } from '../../api/pod-qos.ts';
import { podRequests } from '../../component-helpers/pod-resources.ts';
import type { KubeletEventRecorder } from '../event-reasons.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import { amountsByName, type AdmissionResult, type InsufficientResource } from '../admission/predicate.ts';
import { disruptedStatus } from '../status/disrupted-status.ts';
import { podFields, isCriticalPod } from '../types/pod-update.ts';

/** Reason of the status and of the event. */
const PREEMPTING = 'Preempting';
const MESSAGE = 'Preempted in order to admit critical pod';
const CONDITION_MESSAGE = 'Pod was preempted by Kubelet to accommodate a critical pod.';
/** The minimum wait for a victim to end. */
const LEAST_WAIT_MS = 10_000;

export interface PreemptionDeps {
  readonly platform: BasePlatform;
  readonly recorder: KubeletEventRecorder;
  /** Pods that hold resources. */
  readonly activePods: () => readonly Pod[];
  readonly killPod: KillPodFunc;
}

export interface Preemption {
  /** Evicts pods so that `pod` can be admitted. Resolves to the result of admission. */
  makeRoom(pod: Pod, lacking: readonly InsufficientResource[]): Promise<AdmissionResult>;
}

/** The needed amounts by resource. */
type Needs = ReadonlyMap<string, number>;

export function createPreemption(deps: PreemptionDeps): Preemption {
  const { clock, metrics } = deps.platform;
  const log = deps.platform.log.child('preemption');
  const preemptions = metrics.counter({
    name: 'kubelet_preemptions',
    help: 'Cumulative number of pod preemptions by preemption resource',
    labels: ['preemption_signal'],
  });

  async function end(pod: Pod): Promise<void> {
    deps.recorder.event(pod, 'Warning', PREEMPTING, MESSAGE);
    const gracePeriodSeconds = Number(pod.spec?.terminationGracePeriodSeconds ?? 30);
    const why = { reason: PREEMPTING, message: MESSAGE, conditionMessage: CONDITION_MESSAGE, nowMs: clock.nowMs() };
    const ended = deps.killPod({
      pod,
      gracePeriodSeconds,
      changeStatus: (status) => disruptedStatus(status, pod, why),
    });
    const limit = new AbortController();
    const tooLong = async (): Promise<void> => {
      await clock.sleep(Math.max(LEAST_WAIT_MS, gracePeriodSeconds * 1500), limit.signal);
      throw new Error('timeout waiting to kill pod');
    };
    try {
      await Promise.race([ended, tooLong()]);
    } catch (error) {
      // The victim's worker continues to terminate it; the critical pod is admitted anyway.
      log.error('Failed to evict pod', { ...podFields(pod), err: error });
    } finally {
      limit.abort(new Error('it has ended'));
    }
  }

  return {
    async makeRoom(pod, lacking) {
      const needs: Needs = new Map(
        lacking.map(({ resource, requested, used, capacity }) => [resource, requested - (capacity - used)]),
      );
      const chosen = choosePods(
        deps.activePods().filter((other) => mayPreempt(pod, other)),
        needs,
      );
      if (chosen === undefined) {
        const text = [...needs].map(([resource, amount]) => `(res: ${resource}, q: ${amount}), `).join('');
        const why = `preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources: [${text}]`;
        return {
          admit: false,
          reason: 'UnexpectedAdmissionError',
          message: `Unexpected error while attempting to recover from admission failure: ${why}`,
        };
      }
      log.info('Attempting to evict pods in order to free up resources', { pods: chosen.length, ...podFields(pod) });
      await Promise.all(chosen.map(end));
      preemptions.inc({ preemption_signal: lacking[0]?.resource ?? '' }, chosen.length);
      return { admit: true };
    },
  };
}

/** Upstream: types.Preemptable. */
function mayPreempt(pod: Pod, other: Pod): boolean {
  if (isCriticalPod(pod) && !isCriticalPod(other)) return true;
  const [own, others] = [pod.spec?.priority, other.spec?.priority];
  return own !== undefined && others !== undefined && own > others;
}

/** The pods to evict; undefined: even all together would not free enough. Upstream: getPodsToPreempt. */
export function choosePods(pods: readonly Pod[], needs: Needs): readonly Pod[] | undefined {
  if (remainingNeeds(needs, pods).size > 0) return undefined;
  const podsOf = (qos: string): Pod[] => pods.filter((pod) => podQosClass(pod) === qos);
  const [bestEffort, burstable, guaranteed] = [podsOf('BestEffort'), podsOf('Burstable'), podsOf('Guaranteed')];
  const guaranteedToEnd = nearest(guaranteed, remainingNeeds(needs, [...bestEffort, ...burstable]));
  const burstableToEnd = nearest(burstable, remainingNeeds(needs, [...bestEffort, ...guaranteedToEnd]));
  const bestEffortToEnd = nearest(bestEffort, remainingNeeds(needs, [...burstableToEnd, ...guaranteedToEnd]));
  return [...bestEffortToEnd, ...burstableToEnd, ...guaranteedToEnd];
}

/** Picks pods until the need is satisfied; together they suffice. Upstream: getPodsToPreemptByDistance. */
function nearest(pods: readonly Pod[], needs: Needs): Pod[] {
  const left = [...pods];
  const picked: Pod[] = [];
  for (let open = needs; open.size > 0;) {
    const best = left.reduce((one, other) => (isBetter(other, one, open) ? other : one));
    left.splice(left.indexOf(best), 1);
    picked.push(best);
    open = remainingNeeds(open, [best]);
  }
  return picked;
}

function isBetter(pod: Pod, than: Pod, needs: Needs): boolean {
  const difference = unmetShare(pod, needs) - unmetShare(than, needs);
  if (difference !== 0) return difference < 0;
  for (const resource of ['memory', 'cpu']) {
    const more = amountOf(pod, resource) - amountOf(than, resource);
    if (more !== 0) return more < 0;
  }
  return true;
}

/** The remaining need relative to the whole, summed as squares over the resources. */
function unmetShare(pod: Pod, needs: Needs): number {
  let sum = 0;
  for (const [resource, amount] of needs) sum += (Math.max(0, amount - amountOf(pod, resource)) / amount) ** 2;
  return sum;
}

function remainingNeeds(needs: Needs, pods: readonly Pod[]): Needs {
  const left = [...needs].map(([resource, amount]): [string, number] => [
    resource,
    amount - pods.reduce((sum, pod) => sum + amountOf(pod, resource), 0),
  ]);
  return new Map(left.filter(([, amount]) => amount > 0));
}

function amountOf(pod: Pod, resource: string): number {
  return resource === 'pods' ? 1 : (amountsByName(podRequests(pod).requests)[resource] ?? 0);
}
