/** Defaults of autoscaling. Upstream: apis/autoscaling/v1 and v2 defaults.go. */
import type { HorizontalPodAutoscaler as HorizontalPodAutoscalerV1 } from '../gen/autoscaling-v1.ts';
import type { HorizontalPodAutoscaler, HPAScalingRules } from '../gen/autoscaling-v2.ts';

const SCALE_UP: HPAScalingRules = {
  stabilizationWindowSeconds: 0,
  selectPolicy: 'Max',
  policies: [
    { type: 'Pods', value: 4, periodSeconds: 15 },
    { type: 'Percent', value: 100, periodSeconds: 15 },
  ],
};
const SCALE_DOWN: HPAScalingRules = {
  selectPolicy: 'Max',
  policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }],
};

function mergeRules(rules: HPAScalingRules | undefined, defaults: HPAScalingRules): HPAScalingRules {
  if (rules !== undefined && Object.keys(defaults).every((name) => Object.hasOwn(rules, name))) return rules;
  return structuredClone({ ...defaults, ...rules });
}

/** Sets the defaults of a v2 autoscaler: at least one replica, 80 % of requested cpu. */
export function setHorizontalPodAutoscalerDefaults(autoscaler: HorizontalPodAutoscaler): void {
  const spec = autoscaler.spec;
  if (spec === undefined) return;
  spec.minReplicas ??= 1;
  if ((spec.metrics ?? []).length === 0) {
    spec.metrics = [
      { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } },
    ];
  }
  if (spec.behavior === undefined) return;
  const { scaleUp, scaleDown } = spec.behavior;
  const merged = { scaleUp: mergeRules(scaleUp, SCALE_UP), scaleDown: mergeRules(scaleDown, SCALE_DOWN) };
  if (merged.scaleUp !== scaleUp || merged.scaleDown !== scaleDown) Object.assign(spec.behavior, merged);
}

export function setHorizontalPodAutoscalerV1Defaults(autoscaler: HorizontalPodAutoscalerV1): void {
  if (autoscaler.spec !== undefined) autoscaler.spec.minReplicas ??= 1;
}
