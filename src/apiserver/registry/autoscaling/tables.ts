/** Columns of `kubectl get hpa`. Upstream: printers/internalversion printHorizontalPodAutoscaler. */
import type {
  HorizontalPodAutoscaler,
  MetricSpec,
  MetricStatus,
  MetricTarget,
  MetricValueStatus,
} from '../../../api/gen/autoscaling-v2.ts';
import { ageCell, ageColumn, column, printerOf } from '../printing.ts';
import type { Printer } from '../resource-definition.ts';

/** The number of metrics shown before `+ n more...`. */
const SHOWN = 2;

function valueText(target: MetricTarget, current: MetricValueStatus | undefined): string {
  if (target.averageValue !== undefined) return `${current?.averageValue ?? '<unknown>'}/${target.averageValue} (avg)`;
  return `${current?.value ?? '<unknown>'}/${target.value ?? ''}`;
}

function resourceText(target: MetricTarget, current: MetricValueStatus | undefined): string {
  if (target.averageValue !== undefined) return `${current?.averageValue ?? '<unknown>'}/${target.averageValue}`;
  const utilization = current?.averageUtilization === undefined ? '<unknown>' : `${current.averageUtilization}%`;
  return `${utilization}/${target.averageUtilization === undefined ? '<auto>' : `${target.averageUtilization}%`}`;
}

function metricText(spec: MetricSpec, status: MetricStatus | undefined): string {
  switch (spec.type) {
    case 'External':
      return valueText(spec.external!.target, status?.external?.current);
    case 'Pods':
      return `${status?.pods?.current.averageValue ?? '<unknown>'}/${spec.pods!.target.averageValue ?? ''}`;
    case 'Object':
      return valueText(spec.object!.target, status?.object?.current);
    case 'Resource':
      return `${spec.resource!.name}: ${resourceText(spec.resource!.target, status?.resource?.current)}`;
    case 'ContainerResource':
      return `${spec.containerResource!.name}: ${resourceText(spec.containerResource!.target, status?.containerResource?.current)}`;
    default:
      return '<unknown type>';
  }
}

function metricsText(autoscaler: HorizontalPodAutoscaler): string {
  const specs = autoscaler.spec?.metrics ?? [];
  if (specs.length === 0) return '<none>';
  const texts = specs
    .slice(0, SHOWN)
    .map((spec, index) => metricText(spec, autoscaler.status?.currentMetrics?.[index]));
  return specs.length > SHOWN ? `${texts.join(', ')} + ${specs.length - SHOWN} more...` : texts.join(', ');
}

/** Printer of v2 autoscalers. */
export const horizontalPodAutoscalerPrinter: Printer<HorizontalPodAutoscaler> = printerOf(
  [column('Reference'), column('Targets'), column('MinPods'), column('MaxPods'), column('Replicas'), ageColumn],
  (autoscaler, nowMs) => {
    const { spec, status } = autoscaler;
    const reference = `${spec.scaleTargetRef.kind}/${spec.scaleTargetRef.name}`;
    const minimum = spec.minReplicas === undefined ? '<unset>' : String(spec.minReplicas);
    return [
      reference,
      metricsText(autoscaler),
      minimum,
      spec.maxReplicas,
      status?.currentReplicas ?? 0,
      ageCell(autoscaler, nowMs),
    ];
  },
);
