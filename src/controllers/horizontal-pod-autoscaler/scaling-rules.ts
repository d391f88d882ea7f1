/**
 * From what metrics ask for to what is done: limits, stabilization and rates. Pure but for the history it is given.
 * Upstream: podautoscaler horizontal.go normalizeDesiredReplicas, stabilizeRecommendationWithBehaviors,
 * convertDesiredReplicasWithBehaviorRate.
 */
import type { HorizontalPodAutoscalerSpec, HPAScalingRules } from '../../api/gen/autoscaling-v2.ts';

/** What one autoscaler asked for and did lately. */
export interface ScalingHistory {
  recommendations: { readonly replicas: number; readonly atMs: number }[];
  ups: ScaleEvent[];
  downs: ScaleEvent[];
}

/** A change of size. */
export interface ScaleEvent {
  /** How many replicas, always positive. */
  readonly change: number;
  readonly atMs: number;
}

/** What came out, with what the conditions AbleToScale and ScalingLimited say of it. */
export interface Decision {
  readonly replicas: number;
  readonly stabilized?: Verdict;
  readonly limited: Verdict;
}

interface Verdict {
  readonly reason: string;
  readonly message: string;
}

interface Wish {
  readonly current: number;
  readonly desired: number;
  readonly nowMs: number;
}

const LATER_HIGHEST = 'recent recommendations were higher than current one, applying the highest recent recommendation';
const LATER_LOWEST = 'recent recommendations were lower than current one, applying the lowest recent recommendation';
const WITHIN: Verdict = {
  reason: 'DesiredWithinRange',
  message: 'the desired count is within the acceptable range',
};
const TOO_FEW: Verdict = {
  reason: 'TooFewReplicas',
  message: 'the desired replica count is less than the minimum replica count',
};
const TOO_MANY: Verdict = {
  reason: 'TooManyReplicas',
  message: 'the desired replica count is more than the maximum replica count',
};
const UP_LIMIT: Verdict = {
  reason: 'ScaleUpLimit',
  message: 'the desired replica count is increasing faster than the maximum scale rate',
};
const DOWN_LIMIT: Verdict = {
  reason: 'ScaleDownLimit',
  message: 'the desired replica count is decreasing faster than the maximum scale rate',
};

/** A history with nothing in it. */
export function emptyHistory(): ScalingHistory {
  return { recommendations: [], ups: [], downs: [] };
}

/** Without a behaviour: the highest wish of the window when shrinking, at most doubled (or to 4) when growing. */
export function decidePlain(
  spec: HorizontalPodAutoscalerSpec,
  wish: Wish,
  { history, stabilizationMs }: { readonly history: ScalingHistory; readonly stabilizationMs: number },
): Decision {
  const { current, desired, nowMs } = wish;
  const recent = keepRecent(history, wish, stabilizationMs);
  const stabilized = Math.max(
    desired,
    ...recent.filter(({ atMs }) => atMs > nowMs - stabilizationMs).map((r) => r.replicas),
  );
  const verdict =
    stabilized === desired ? {} : { stabilized: { reason: 'ScaleDownStabilized', message: LATER_HIGHEST } };
  const { minReplicas = 1, maxReplicas } = spec;
  const rate = Math.max(2 * current, 4);
  const [top, limited] = maxReplicas > rate ? [rate, UP_LIMIT] : [maxReplicas, TOO_MANY];
  if (stabilized < minReplicas) return { ...verdict, replicas: minReplicas, limited: TOO_FEW };
  if (stabilized > top) return { ...verdict, replicas: top, limited };
  return { ...verdict, replicas: stabilized, limited: WITHIN };
}

/** With a behaviour: windows and policies of each direction. Its defaults have been filled in by the server. */
export function decideWithBehavior(spec: HorizontalPodAutoscalerSpec, wish: Wish, history: ScalingHistory): Decision {
  const { scaleUp = {}, scaleDown = {} } = spec.behavior ?? {};
  const upMs = (scaleUp.stabilizationWindowSeconds ?? 0) * 1000;
  const downMs = (scaleDown.stabilizationWindowSeconds ?? 300) * 1000;
  const recent = keepRecent(history, wish, Math.max(upMs, downMs));
  const within = (windowMs: number): number[] =>
    recent.filter(({ atMs }) => atMs > wish.nowMs - windowMs).map(({ replicas }) => replicas);
  const lowest = Math.min(wish.desired, ...within(upMs));
  const highest = Math.max(wish.desired, ...within(downMs));
  const replicas = Math.min(Math.max(wish.current, lowest), highest);
  const growing = wish.desired >= wish.current;
  const stabilized = growing
    ? { reason: 'ScaleUpStabilized', message: LATER_LOWEST }
    : { reason: 'ScaleDownStabilized', message: LATER_HIGHEST };
  const verdict = replicas === wish.desired ? {} : { stabilized };
  forgetOldEvents(history, wish.nowMs, { scaleUp, scaleDown });
  return { ...verdict, ...limitRate(spec, { ...wish, desired: replicas }, history) };
}

function keepRecent(
  history: ScalingHistory,
  { desired, nowMs }: Wish,
  windowMs: number,
): ScalingHistory['recommendations'] {
  const before = history.recommendations.filter(({ atMs }) => atMs >= nowMs - windowMs);
  history.recommendations = [...before, { replicas: desired, atMs: nowMs }];
  return before;
}

function limitRate(
  { minReplicas = 1, maxReplicas, behavior }: HorizontalPodAutoscalerSpec,
  { current, desired, nowMs }: Wish,
  history: ScalingHistory,
): Decision {
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

/** The most replicas the policies allow now. What came and went within a policy's period counts. */
function scaleUpLimit(current: number, { ups, downs }: ScalingHistory, { rules, nowMs }: Rate): number {
  if (rules.selectPolicy === 'Disabled') return current;
  const limits = (rules.policies ?? []).map(({ type, value, periodSeconds }) => {
    const since = nowMs - periodSeconds * 1000;
    const start = current - changeSince(ups, since) + changeSince(downs, since);
    return type === 'Pods' ? start + value : Math.ceil(start * (1 + value / 100));
  });
  return rules.selectPolicy === 'Min' ? Math.min(...limits) : Math.max(...limits, 0);
}

function scaleDownLimit(current: number, { ups, downs }: ScalingHistory, { rules, nowMs }: Rate): number {
  if (rules.selectPolicy === 'Disabled') return current;
  const limits = (rules.policies ?? []).map(({ type, value, periodSeconds }) => {
    const since = nowMs - periodSeconds * 1000;
    const start = current - changeSince(ups, since) + changeSince(downs, since);
    return type === 'Pods' ? start - value : Math.floor(start * (1 - value / 100));
  });
  return rules.selectPolicy === 'Min' ? Math.max(...limits) : Math.min(...limits);
}

function changeSince(events: readonly ScaleEvent[], sinceMs: number): number {
  return events.filter(({ atMs }) => atMs > sinceMs).reduce((sum, { change }) => sum + change, 0);
}

function forgetOldEvents(
  history: ScalingHistory,
  nowMs: number,
  { scaleUp, scaleDown }: { readonly scaleUp: HPAScalingRules; readonly scaleDown: HPAScalingRules },
): void {
  const periods = [scaleUp, scaleDown].flatMap((rules) => (rules.policies ?? []).map((p) => p.periodSeconds));
  const oldestMs = nowMs - Math.max(0, ...periods) * 1000;
  history.ups = history.ups.filter(({ atMs }) => atMs > oldestMs);
  history.downs = history.downs.filter(({ atMs }) => atMs > oldestMs);
}
