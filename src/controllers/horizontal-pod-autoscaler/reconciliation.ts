/**
 * One reconciliation of an autoscaler: its status draft, and the size that follows from the proposal of the metrics.
 * Upstream: podautoscaler horizontal.go, reconcileAutoscaler and normalizeDesiredReplicas.
 */
import type { HorizontalPodAutoscaler } from '../../api/gen/autoscaling-v2.ts';
import type { Stored } from '../../api/object.ts';
import { setCondition, type ConditionText, type ConditionType, type StatusDraft } from './autoscaler-status.ts';
import type { ScaleAction, ScaleError } from './hpa-metrics.ts';
import {
  normalizeDesiredReplicas,
  normalizeDesiredReplicasWithBehaviors,
  type ScalingHistory,
} from './scaling-rules.ts';

const STABILIZATION_MS = 300_000;

/** One reconciliation of an autoscaler. */
export interface Reconciliation {
  readonly hpa: Stored<HorizontalPodAutoscaler>;
  readonly key: string;
  readonly draft: StatusDraft;
  readonly nowMs: number;
  readonly signal: AbortSignal;
  /** Its result, for the metrics. */
  readonly result: { action: ScaleAction; error: ScaleError };
}

/** The replicas that all metrics together propose, and the metric with the highest proposal. */
export interface MetricsProposal {
  readonly replicas: number;
  readonly metric: string;
}

/** The size to scale to, and the reason. */
export interface DesiredSize {
  readonly desired: number;
  readonly reason: string;
}

/** Applies limits and stabilization to the proposal, and sets the conditions. */
export function normalizeProposal(
  reconciliation: Reconciliation,
  { current, replicas, metric }: MetricsProposal & { readonly current: number },
  history: ScalingHistory,
): DesiredSize {
  const { hpa, nowMs } = reconciliation;
  const proposal = { current, desired: replicas, nowMs };
  const decision =
    hpa.spec.behavior === undefined
      ? normalizeDesiredReplicas(hpa.spec, proposal, { history, stabilizationMs: STABILIZATION_MS })
      : normalizeDesiredReplicasWithBehaviors(hpa.spec, proposal, history);
  const ready = { reason: 'ReadyForNewScale', message: 'recommended size matches current size' };
  setConditionOf(reconciliation, 'AbleToScale', { status: true, ...(decision.stabilized ?? ready) });
  const isLimited = decision.limited.reason !== 'DesiredWithinRange';
  setConditionOf(reconciliation, 'ScalingLimited', { status: isLimited, ...decision.limited });
  const grows = decision.replicas > current;
  return { desired: decision.replicas, reason: grows ? `${metric} above target` : 'All metrics below target' };
}

export function setConditionOf(
  { draft, nowMs }: Reconciliation,
  type: ConditionType,
  condition: ConditionText & { readonly status: boolean },
): void {
  setCondition(draft, type, { ...condition, nowMs });
}

export function recordScaleEvent(history: ScalingHistory, change: number, atMs: number): void {
  (change > 0 ? history.ups : history.downs).push({ change: Math.abs(change), atMs });
}

export function actionOf(current: number, replicas: number): ScaleAction {
  return replicas === current ? 'none' : replicas > current ? 'scale_up' : 'scale_down';
}
