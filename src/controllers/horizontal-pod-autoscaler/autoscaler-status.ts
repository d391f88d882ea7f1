/** Conditions and events of an autoscaler. Upstream: podautoscaler horizontal.go setCondition and its texts. */
import { type Int64 } from '../../api/int64.ts';
import { formatTime } from '../../api/time.ts';
import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerCondition,
  HorizontalPodAutoscalerStatus,
  MetricStatus,
} from '../../api/gen/autoscaling-v2.ts';

/** Types of an autoscaler's conditions. */
export type ConditionType = 'AbleToScale' | 'ScalingActive' | 'ScalingLimited';

/** Reason and message of a condition or an event. */
export interface ConditionText {
  readonly reason: string;
  readonly message: string;
}

/** The status that a reconciliation builds. */
export interface StatusDraft {
  conditions: HorizontalPodAutoscalerCondition[];
  currentReplicas?: number;
  desiredReplicas: number;
  currentMetrics?: MetricStatus[];
  lastScaleTime?: string;
  observedGeneration?: Int64;
}

/** A draft from the stored status. */
export function draftOf({ status }: HorizontalPodAutoscaler): StatusDraft {
  const { conditions = [], desiredReplicas = 0, ...rest } = status ?? ({} as Partial<HorizontalPodAutoscalerStatus>);
  return {
    ...rest,
    desiredReplicas,
    conditions: [...conditions],
  };
}

/** Sets a condition; its transition time changes only with its status. The order of conditions is kept. */
export function setCondition(
  draft: StatusDraft,
  type: ConditionType,
  condition: ConditionText & { readonly status: boolean; readonly nowMs: number },
): void {
  const { reason, message, nowMs } = condition;
  const status = condition.status ? 'True' : 'False';
  const index = draft.conditions.findIndex((other) => other.type === type);
  const old = draft.conditions[index];
  const lastTransitionTime =
    old?.status === status && old.lastTransitionTime !== undefined ? old.lastTransitionTime : formatTime(nowMs);
  const next = { type, status, reason, message, lastTransitionTime };
  if (index < 0) draft.conditions.push(next);
  else draft.conditions[index] = next;
}
