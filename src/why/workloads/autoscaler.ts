/** Why a horizontal pod autoscaler does not scale. */
import { HorizontalPodAutoscalers } from '../../api/gen/resources.ts';
import type { HorizontalPodAutoscaler } from '../../api/gen/autoscaling-v2.ts';
import { conditionCause, conditionOf } from '../conditions.ts';
import type { Evidence } from '../evidence.ts';
import type { Cause, Cure, Diagnosis } from '../explanation.ts';

/** By the reason of the condition that is False. Upstream: podautoscaler's setCondition calls. */
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

export async function explainAutoscaler(autoscaler: HorizontalPodAutoscaler, _evidence: Evidence): Promise<Diagnosis> {
  const { currentReplicas = 0, desiredReplicas = 0 } = autoscaler.status ?? {};
  const { minReplicas = 1, maxReplicas } = autoscaler.spec ?? {};
  const summary = `wants ${desiredReplicas} replicas and sees ${currentReplicas} (${minReplicas} to ${maxReplicas})`;
  const causes = ['AbleToScale', 'ScalingActive'].flatMap((type) => falseCause(autoscaler, type));
  if (causes.length > 0) return { state: 'Trouble', summary, causes };
  const limited = conditionOf(autoscaler, 'ScalingLimited');
  if (limited?.status !== 'True' || !isAtBound(limited.reason)) return { state: 'Fine', summary, causes: [] };
  const cure = { text: 'change minReplicas or maxReplicas if it is to go further' };
  return {
    state: 'Fine',
    summary,
    causes: [{ ...conditionCause(HorizontalPodAutoscalers, autoscaler, limited), cure }],
  };
}

function isAtBound(reason: string | undefined): boolean {
  return reason === 'TooManyReplicas' || reason === 'TooFewReplicas';
}

function falseCause(autoscaler: HorizontalPodAutoscaler, type: string): readonly Cause[] {
  const condition = conditionOf(autoscaler, type);
  if (condition?.status !== 'False') return [];
  const cure = CURES[condition.reason ?? ''];
  const found = conditionCause(HorizontalPodAutoscalers, autoscaler, condition);
  return [cure === undefined ? found : { ...found, cure }];
}
