/** Quality-of-service class of a pod. Upstream: apis/core/helper/qos.ComputePodQOS. */
import type { Pod, ResourceRequirements } from './gen/core-v1.ts';
import { addQuantities, compareQuantities, isZeroQuantity } from './quantity.ts';

/** Guaranteed: all containers have limits equal to requests for cpu and memory. BestEffort: no container has either. */
export type QosClass = 'Guaranteed' | 'Burstable' | 'BestEffort';

type Totals = Record<string, string>;

const QOS_RESOURCES = ['cpu', 'memory'] as const;

function addPositive(into: Totals, from: Readonly<Record<string, string>> | undefined): number {
  let found = 0;
  for (const name of QOS_RESOURCES) {
    const quantity = from?.[name];
    if (quantity === undefined || isZeroQuantity(quantity) || quantity.startsWith('-')) continue;
    into[name] = into[name] === undefined ? quantity : addQuantities(into[name], quantity);
    found++;
  }
  return found;
}

/** The class by the spec. `podQosClass` gives precedence to the class in status. */
export function computePodQosClass(pod: Pick<Pod, 'spec'>): QosClass {
  const requests: Totals = {};
  const limits: Totals = {};
  const spec = pod.spec;
  // Pod-level resources replace those of the containers.
  const sources: (ResourceRequirements | undefined)[] = hasPodLevel(spec?.resources)
    ? [spec?.resources]
    : [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])].map((container) => container.resources);
  let guaranteed = true;
  for (const resources of sources) {
    addPositive(requests, resources?.requests);
    if (addPositive(limits, resources?.limits) < QOS_RESOURCES.length) guaranteed = false;
  }
  const requested = Object.keys(requests);
  if (requested.length === 0 && Object.keys(limits).length === 0) return 'BestEffort';
  const equal = requested.every(
    (name) => limits[name] !== undefined && compareQuantities(limits[name], requests[name]!) === 0,
  );
  return guaranteed && equal && requested.length === Object.keys(limits).length ? 'Guaranteed' : 'Burstable';
}

function hasPodLevel(resources: ResourceRequirements | undefined): boolean {
  return QOS_RESOURCES.some(
    (name) => resources?.requests?.[name] !== undefined || resources?.limits?.[name] !== undefined,
  );
}

/** The class in status when it is set, else the computed one. Upstream: GetPodQOS. */
export function podQosClass(pod: Pick<Pod, 'spec' | 'status'>): QosClass {
  const recorded = pod.status?.qosClass;
  return recorded === 'Guaranteed' || recorded === 'Burstable' || recorded === 'BestEffort'
    ? recorded
    : computePodQosClass(pod);
}
