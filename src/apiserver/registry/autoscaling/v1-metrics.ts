/**
 * Converts metrics between autoscaling/v1 and v2. The fields of v1's form are in Go's order. Upstream:
 * apis/autoscaling/v1/conversion.go.
 */
import type * as v1 from '../../../api/gen/autoscaling-v1.ts';
import type * as v2 from '../../../api/gen/autoscaling-v2.ts';
import { isZeroQuantity } from '../../../api/quantity.ts';

const ZERO = '0';

type Sources = Pick<v2.MetricSpec, 'containerResource' | 'external' | 'object' | 'pods' | 'resource'>;

function referenceToV1({ kind, name, apiVersion }: v2.CrossVersionObjectReference): v1.CrossVersionObjectReference {
  return { kind, name, apiVersion };
}

export function metricToV1({
  type,
  object,
  pods,
  resource,
  containerResource,
  external,
}: v2.MetricSpec): v1.MetricSpec {
  return {
    type,
    object: object && {
      target: referenceToV1(object.describedObject),
      metricName: object.metric.name,
      targetValue: object.target.value ?? ZERO,
      selector: object.metric.selector,
      averageValue: object.target.averageValue,
    },
    pods: pods && {
      metricName: pods.metric.name,
      targetAverageValue: pods.target.averageValue ?? ZERO,
      selector: pods.metric.selector,
    },
    resource: resource && {
      name: resource.name,
      targetAverageUtilization: resource.target.averageUtilization,
      targetAverageValue: resource.target.averageValue,
    },
    containerResource: containerResource && {
      name: containerResource.name,
      targetAverageUtilization: containerResource.target.averageUtilization,
      targetAverageValue: containerResource.target.averageValue,
      container: containerResource.container,
    },
    external: external && {
      metricName: external.metric.name,
      metricSelector: external.metric.selector,
      targetValue: external.target.value,
      targetAverageValue: external.target.averageValue,
    },
  };
}

function averageTarget(averageValue: string | undefined, averageUtilization?: number): v2.MetricTarget {
  return { type: averageUtilization === undefined ? 'AverageValue' : 'Utilization', averageValue, averageUtilization };
}

/** v1 always writes a value: a zero with an average means none. */
function objectTarget(value: string, averageValue: string | undefined): v2.MetricTarget {
  if (averageValue === undefined) return { type: 'Value', value };
  return { type: 'AverageValue', value: isZeroQuantity(value) ? undefined : value, averageValue };
}

export function metricFromV1({ type, ...sources }: v1.MetricSpec): v2.MetricSpec {
  const { object, pods, resource, containerResource, external } = sources;
  const converted: Sources = {
    object: object && {
      describedObject: object.target,
      metric: { name: object.metricName, selector: object.selector },
      target: objectTarget(object.targetValue, object.averageValue),
    },
    pods: pods && {
      metric: { name: pods.metricName, selector: pods.selector },
      target: averageTarget(pods.targetAverageValue),
    },
    resource: resource && {
      name: resource.name,
      target: averageTarget(resource.targetAverageValue, resource.targetAverageUtilization),
    },
    containerResource: containerResource && {
      name: containerResource.name,
      container: containerResource.container,
      target: averageTarget(containerResource.targetAverageValue, containerResource.targetAverageUtilization),
    },
    external: external && {
      metric: { name: external.metricName, selector: external.metricSelector },
      target: {
        type: external.targetValue === undefined ? 'AverageValue' : 'Value',
        value: external.targetValue,
        averageValue: external.targetAverageValue,
      },
    },
  };
  return { type, ...converted };
}

export function statusToV1({ type, ...sources }: v2.MetricStatus): v1.MetricStatus {
  const { object, pods, resource, containerResource, external } = sources;
  return {
    type,
    object: object && {
      target: referenceToV1(object.describedObject),
      metricName: object.metric.name,
      currentValue: object.current.value ?? ZERO,
      selector: object.metric.selector,
      averageValue: object.current.averageValue,
    },
    pods: pods && {
      metricName: pods.metric.name,
      currentAverageValue: pods.current.averageValue ?? ZERO,
      selector: pods.metric.selector,
    },
    resource: resource && {
      name: resource.name,
      currentAverageUtilization: resource.current.averageUtilization,
      currentAverageValue: resource.current.averageValue ?? ZERO,
    },
    containerResource: containerResource && {
      name: containerResource.name,
      currentAverageUtilization: containerResource.current.averageUtilization,
      currentAverageValue: containerResource.current.averageValue ?? ZERO,
      container: containerResource.container,
    },
    external: external && {
      metricName: external.metric.name,
      metricSelector: external.metric.selector,
      currentValue: external.current.value ?? ZERO,
      currentAverageValue: external.current.averageValue,
    },
  };
}

export function statusFromV1({ type, ...sources }: v1.MetricStatus): v2.MetricStatus {
  const { object, pods, resource, containerResource, external } = sources;
  return {
    type,
    object: object && {
      describedObject: object.target,
      metric: { name: object.metricName, selector: object.selector },
      current: { value: object.currentValue, averageValue: object.averageValue },
    },
    pods: pods && {
      metric: { name: pods.metricName, selector: pods.selector },
      current: { averageValue: pods.currentAverageValue },
    },
    resource: resource && {
      name: resource.name,
      current: {
        averageValue: resource.currentAverageValue,
        averageUtilization: resource.currentAverageUtilization,
      },
    },
    containerResource: containerResource && {
      name: containerResource.name,
      container: containerResource.container,
      current: {
        averageValue: containerResource.currentAverageValue,
        averageUtilization: containerResource.currentAverageUtilization,
      },
    },
    external: external && {
      metric: { name: external.metricName, selector: external.metricSelector },
      current: { value: external.currentValue, averageValue: external.currentAverageValue },
    },
  };
}
