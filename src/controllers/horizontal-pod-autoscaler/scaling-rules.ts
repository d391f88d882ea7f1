/**
 * Applies limits, stabilization and scaling rates to the proposed replicas. Pure apart from the history passed in.
 * Upstream: podautoscaler horizontal.go normalizeDesiredReplicas, stabilizeRecommendationWithBehaviors,
 * convertDesiredReplicasWithBehaviorRate.
 */
import type { HorizontalPodAutoscalerSpec, HPAScalingRules } from '../../api/gen/autoscaling-v2.ts';
import type { ConditionText } from './autoscaler-status.ts';
import { largest, smallest } from '../../base/lists.ts';

/** Recent recommendations and changes of size of one autoscaler. */
export interface ScalingHistory {
  recommendations: { readonly replicas: number; readonly atMs: number }[];
  ups: ScaleEvent[];
  downs: ScaleEvent[];
}

export interface ScaleEvent {
  /** Number of replicas, always positive. */
  readonly change: number;
  readonly atMs: number;
}

/** The replicas to scale to, with the texts of the conditions AbleToScale and ScalingLimited. */
export interface ScalingDecision {
  readonly replicas: number;
  readonly stabilized?: ConditionText;
  readonly limited: ConditionText;
}

interface ReplicaProposal {
  readonly current: number;
  readonly desired: number;
  readonly nowMs: number;
}

const LATER_HIGHEST = 'recent recommendations were higher than current one, applying the highest recent recommendation';
const LATER_LOWEST = 'recent recommendations were lower than current one, applying the lowest recent recommendation';
const WITHIN: ConditionText = {
  reason: 'DesiredWithinRange',
  message: 'the desired count is within the acceptable range',
};
const TOO_FEW: ConditionText = {
  reason: 'TooFewReplicas',
  message: 'the desired replica count is less than the minimum replica count',
};
const TOO_MANY: ConditionText = {
  reason: 'TooManyReplicas',
  message: 'the desired replica count is more than the maximum replica count',
};
const UP_LIMIT: ConditionText = {
  reason: 'ScaleUpLimit',
  message: 'the desired replica count is increasing faster than the maximum scale rate',
};
const DOWN_LIMIT: ConditionText = {
  reason: 'ScaleDownLimit',
  message: 'the desired replica count is decreasing faster than the maximum scale rate',
};

export function emptyHistory(): ScalingHistory {
  return { recommendations: [], ups: [], downs: [] };
}

/**
 * Without a behavior: scaling down uses the highest recommendation of the window; scaling up at most doubles the size
 * (or goes to 4).
 */
export function normalizeDesiredReplicas(
  spec: HorizontalPodAutoscalerSpec,
  proposal: ReplicaProposal,
  { history, stabilizationMs }: { readonly history: ScalingHistory; readonly stabilizationMs: number },
): ScalingDecision {
  const { current, desired, nowMs } = proposal;
  const recent = keepRecent(history, proposal, stabilizationMs);
  const inWindow = recent.filter(({ atMs }) => atMs > nowMs - stabilizationMs);
  const stabilized = largest(
    inWindow.map(({ replicas }) => replicas),
    desired,
  );
  const stabilization =
    stabilized === desired ? {} : { stabilized: { reason: 'ScaleDownStabilized', message: LATER_HIGHEST } };
  const { minReplicas = 1, maxReplicas } = spec;
  const rate = Math.max(2 * current, 4);
  const [top, limited] = maxReplicas > rate ? [rate, UP_LIMIT] : [maxReplicas, TOO_MANY];
  if (stabilized < minReplicas) return { ...stabilization, replicas: minReplicas, limited: TOO_FEW };
  if (stabilized > top) return { ...stabilization, replicas: top, limited };
  return { ...stabilization, replicas: stabilized, limited: WITHIN };
}

/** With a behavior: applies the window and the policies of each direction. The server has set the defaults. */
export function normalizeDesiredReplicasWithBehaviors(
  spec: HorizontalPodAutoscalerSpec,
  proposal: ReplicaProposal,
  history: ScalingHistory,
): ScalingDecision {
  const { scaleUp = {}, scaleDown = {} } = spec.behavior ?? {};
  const upMs = (scaleUp.stabilizationWindowSeconds ?? 0) * 1000;
  const downMs = (scaleDown.stabilizationWindowSeconds ?? 300) * 1000;
  const recent = keepRecent(history, proposal, Math.max(upMs, downMs));
  const within = (windowMs: number): number[] =>
    recent.filter(({ atMs }) => atMs > proposal.nowMs - windowMs).map(({ replicas }) => replicas);
  const lowest = smallest(within(upMs), proposal.desired);
  const highest = largest(within(downMs), proposal.desired);
  const replicas = Math.min(Math.max(proposal.current, lowest), highest);
  const growing = proposal.desired >= proposal.current;
  const stabilized = growing
    ? { reason: 'ScaleUpStabilized', message: LATER_LOWEST }
    : { reason: 'ScaleDownStabilized', message: LATER_HIGHEST };
  const stabilization = replicas === proposal.desired ? {} : { stabilized };
  forgetOldEvents(history, proposal.nowMs, { scaleUp, scaleDown });
  return { ...stabilization, ...limitRate(spec, { ...proposal, desired: replicas }, history) };
}

function keepRecent(
  history: ScalingHistory,
  { desired, nowMs }: ReplicaProposal,
  windowMs: number,
): ScalingHistory['recommendations'] {
  const before = history.recommendations.filter(({ atMs }) => atMs >= nowMs - windowMs);
  history.recommendations = [...before, { replicas: desired, atMs: nowMs }];
  return before;
}

function limitRate(
  { minReplicas = 1, maxReplicas, behavior }: HorizontalPodAutoscalerSpec,
  { current, desired, nowMs }: ReplicaProposal,
  history: ScalingHistory,
): ScalingDecision {
  if (desired > current) {
    const rate = Math.max(scaleUpLimit(current, history, { rules: behavior?.scaleUp ?? {}, nowMs }), current);
    const [top, limited] = maxReplicas > rate ? [rate, UP_LIMIT] : [maxReplicas, TOO_MANY];
    return desired > top ? { replicas: top, limited } : { replicas: desired, limited: WITHIN };
  }
  if (desired < current) {
    const rate = Math.min(scaleDownLimit(current, history, { rules: behavior?.scaleDown ?? {}, nowMs }), current);
    const [bottom, limited] = minReplicas < rate ? [rate, DOWN_LIMIT] : [minReplicas, TOO_FEW];
    return desired < bottom ? { replicas: bottom, limited } : { replicas: desired, limited: WITHIN };
  }
  return { replicas: desired, limited: WITHIN };
}

interface Rate {
  readonly rules: HPAScalingRules;
  readonly nowMs: number;
}

/** The most replicas that the policies allow now, counting the changes within each policy's period. */
function scaleUpLimit(current: number, { ups, downs }: ScalingHistory, { rules, nowMs }: Rate): number {
  if (rules.selectPolicy === 'Disabled') return current;
  const [added, removed] = [new ChangeSums(ups), new ChangeSums(downs)];
  const limits = (rules.policies ?? []).map(({ type, value, periodSeconds }) => {
    const since = nowMs - periodSeconds * 1000;
    const start = current - added.since(since) + removed.since(since);
    return type === 'Pods' ? start + value : Math.ceil(start * (1 + value / 100));
  });
  return rules.selectPolicy === 'Min' ? smallest(limits) : largest(limits, 0);
}

function scaleDownLimit(current: number, { ups, downs }: ScalingHistory, { rules, nowMs }: Rate): number {
  if (rules.selectPolicy === 'Disabled') return current;
  const [added, removed] = [new ChangeSums(ups), new ChangeSums(downs)];
  const limits = (rules.policies ?? []).map(({ type, value, periodSeconds }) => {
    const since = nowMs - periodSeconds * 1000;
    const start = current - added.since(since) + removed.since(since);
    return type === 'Pods' ? start - value : Math.floor(start * (1 - value / 100));
  });
  return rules.selectPolicy === 'Min' ? largest(limits) : smallest(limits);
}

/** Sums of changes: there may be thousands of them, and thousands of policies that ask. */
class ChangeSums {
  readonly #timesMs: readonly number[];
  /** By index, the sum of the changes from there on. */
  readonly #sums: readonly number[];

  constructor(events: readonly ScaleEvent[]) {
    // A wall clock may be set back.
    const inOrder = events.toSorted((a, b) => a.atMs - b.atMs);
    this.#timesMs = inOrder.map(({ atMs }) => atMs);
    const sums = Array.from({ length: events.length + 1 }, () => 0);
    for (let at = events.length - 1; at >= 0; at--) sums[at] = sums[at + 1]! + inOrder[at]!.change;
    this.#sums = sums;
  }

  /** The sum of all changes after this time. */
  since(sinceMs: number): number {
    let low = 0;
    let high = this.#timesMs.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#timesMs[middle]! <= sinceMs) low = middle + 1;
      else high = middle;
    }
    return this.#sums[low]!;
  }
}

function forgetOldEvents(
  history: ScalingHistory,
  nowMs: number,
  { scaleUp, scaleDown }: { readonly scaleUp: HPAScalingRules; readonly scaleDown: HPAScalingRules },
): void {
  const periods = [scaleUp, scaleDown].flatMap((rules) => (rules.policies ?? []).map((p) => p.periodSeconds));
  const oldestMs = nowMs - largest(periods, 0) * 1000;
  history.ups = history.ups.filter(({ atMs }) => atMs > oldestMs);
  history.downs = history.downs.filter(({ atMs }) => atMs > oldestMs);
}
