/** Explains why a horizontal pod autoscaler does not scale. */
import { HorizontalPodAutoscalers } from '../../api/gen/resources.ts';
import type { HorizontalPodAutoscaler } from '../../api/gen/autoscaling-v2.ts';
import { appendAll } from '../../base/lists.ts';
import { conditionCause, conditionOf } from '../conditions.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause, type Cure, type Diagnosis } from '../explanation.ts';
import { nameOfObject } from '../object-name.ts';
import { diagnoseUnobserved } from './observed.ts';
import { causesBehind } from './scale-target.ts';

/** Cures by the reason of a False condition. Upstream: podautoscaler's setCondition calls. */
const CURES: Readonly<Record<string, Cure>> = {
  FailedGetScale: { text: 'name an object that exists and can be scaled in spec.scaleTargetRef' },
  FailedUpdateScale: { text: 'mend what the message says of the target' },
  FailedGetResourceMetric: {
    text: 'give the containers requests for the resource, and see whether metrics are served',
    command: 'kubectl top pods',
  },
  FailedGetContainerResourceMetric: {
    text: 'give the container requests for the resource',
    command: 'kubectl top pods --containers',
  },
  FailedGetPodsMetric: { text: 'see whether a server of custom.metrics.k8s.io knows the metric' },
  FailedGetObjectMetric: { text: 'see whether a server of custom.metrics.k8s.io knows the metric' },
  FailedGetExternalMetric: { text: 'see whether a server of external.metrics.k8s.io knows the metric' },
  InvalidMetricSourceType: { text: 'name a metric source type that exists' },
  InvalidSelector: { text: 'the target has no valid selector: mend it' },
  AmbiguousSelector: { text: 'let one autoscaler select the pods' },
  ScalingDisabled: { text: 'the target has 0 replicas, which turns the autoscaler off: scale it to 1 by hand' },
};

/** Conditions that are True and limit the scaling, by reason. */
const NOTES: Readonly<Record<string, Cure>> = {
  TooManyReplicas: { text: 'raise maxReplicas if it is to go further' },
  TooFewReplicas: { text: 'lower minReplicas if it is to go further' },
  ScaleUpLimit: { text: 'wait, or allow larger steps in spec.behavior.scaleUp' },
  ScaleDownLimit: { text: 'wait, or allow larger steps in spec.behavior.scaleDown' },
  ScaleUpStabilized: { text: 'wait, or shorten spec.behavior.scaleUp.stabilizationWindowSeconds' },
  ScaleDownStabilized: { text: 'wait, or shorten spec.behavior.scaleDown.stabilizationWindowSeconds (300 by default)' },
};

export async function explainAutoscaler(autoscaler: HorizontalPodAutoscaler, evidence: Evidence): Promise<Diagnosis> {
  const { currentReplicas = 0, desiredReplicas = 0, conditions = [] } = autoscaler.status ?? {};
  const { minReplicas = 1, maxReplicas } = autoscaler.spec ?? {};
  const summary = `wants ${desiredReplicas} replicas and sees ${currentReplicas} (${minReplicas} to ${maxReplicas})`;
  const unobserved = diagnoseUnobserved(HorizontalPodAutoscalers, autoscaler, evidence.nowMs);
  if (conditions.length === 0 && unobserved !== undefined) return { ...unobserved, summary };
  const causes: Cause[] = [];
  for (const type of ['AbleToScale', 'ScalingActive']) appendAll(causes, await falseCauses(autoscaler, type, evidence));
  if (causes.length > 0) return { state: 'Trouble', summary, causes };
  const isKnown = conditions.some(({ type, status }) => type === 'ScalingActive' && status === 'True');
  return {
    state: isKnown ? 'Fine' : 'Unknown',
    summary,
    causes: [...disabledCauses(autoscaler), ...addCauses(autoscaler)],
  };
}

function addCauses(autoscaler: HorizontalPodAutoscaler): readonly Cause[] {
  return ['ScalingLimited', 'AbleToScale'].flatMap((type) => {
    const condition = conditionOf(autoscaler, type);
    const { reason = '' } = condition ?? {};
    const cure = NOTES[reason];
    if (condition?.status !== 'True' || cure === undefined || isOfDisabled(autoscaler, reason)) return [];
    return [{ ...conditionCause(HorizontalPodAutoscalers, autoscaler, condition), cure }];
  });
}

/** Whether the autoscaler's own behavior forbids the direction, so that waiting does not help. */
function isOfDisabled({ spec }: HorizontalPodAutoscaler, reason: string): boolean {
  const direction = reason === 'ScaleUpLimit' ? 'scaleUp' : reason === 'ScaleDownLimit' ? 'scaleDown' : undefined;
  return direction !== undefined && spec?.behavior?.[direction]?.selectPolicy === 'Disabled';
}

/** Directions in which the autoscaler's behavior forbids scaling. */
function disabledCauses(autoscaler: HorizontalPodAutoscaler): readonly Cause[] {
  const { behavior } = autoscaler.spec ?? {};
  return (['scaleUp', 'scaleDown'] as const)
    .filter((direction) => behavior?.[direction]?.selectPolicy === 'Disabled')
    .map((direction) =>
      cause({
        code: 'ScalingPolicyDisabled',
        object: nameOfObject(HorizontalPodAutoscalers, autoscaler),
        message: `spec.behavior.${direction}.selectPolicy Disabled lets it go no step that way`,
        cure: { text: 'use selectPolicy Max or Min' },
      }),
    );
}

async function falseCauses(
  autoscaler: HorizontalPodAutoscaler,
  type: string,
  evidence: Evidence,
): Promise<readonly Cause[]> {
  const condition = conditionOf(autoscaler, type);
  if (condition?.status !== 'False') return [];
  const { reason = '' } = condition;
  const found = conditionCause(HorizontalPodAutoscalers, autoscaler, condition);
  return [{ ...found, cure: CURES[reason], because: await causesBehind(reason, autoscaler, evidence) }];
}
