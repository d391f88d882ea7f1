/** Conditions and events of an autoscaler. Upstream: podautoscaler horizontal.go setCondition and its texts. */
import { type Int64 } from '../../api/int64.ts';
import { formatTime } from '../../api/time.ts';
import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerCondition,
  HorizontalPodAutoscalerStatus,
  MetricStatus,
} from '../../api/gen/autoscaling-v2.ts';

/** Types of conditions that are kept. */
export type ConditionType = 'AbleToScale' | 'ScalingActive' | 'ScalingLimited';

/** What a condition says; the status is given apart. */
export interface Saying {
  readonly reason: string;
  readonly message: string;
}

/** The status under construction. */
export interface StatusDraft {
  conditions: HorizontalPodAutoscalerCondition[];
  currentReplicas?: number;
  desiredReplicas: number;
  currentMetrics?: MetricStatus[];
  lastScaleTime?: string;
  observedGeneration?: Int64;
}

/** Starts from the status that is stored. */
export function draftOf({ status, metadata }: HorizontalPodAutoscaler): StatusDraft {
  const { conditions = [], desiredReplicas = 0, ...rest } = status ?? ({} as Partial<HorizontalPodAutoscalerStatus>);
  return {
    ...rest,
    desiredReplicas,
    conditions: [...conditions],
    ...(metadata.generation === undefined ? {} : { observedGeneration: metadata.generation }),
  };
}

/** Sets a condition; its time moves only when its status changes. Conditions keep the order they came in. */
export function setCondition(
  draft: StatusDraft,
  type: ConditionType,
  condition: Saying & { readonly status: boolean; readonly nowMs: number },
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
