/**
 * The usage of objects against resource quotas: one evaluator for each kind, used by admission (before) and by the quota
 * controller (after). Pure. Upstream: pkg/quota/v1/evaluator/core, apiserver/pkg/quota/v1/generic.
 */
import type { PersistentVolumeClaim, Service } from '../../api/gen/core-v1.ts';
import { compareQuantities, formatQuantity, parseQuantity } from '../../api/quantity.ts';
import { groupResourceOf } from '../../api/resource-info.ts';
import { createDeviceClaimEvaluator } from './device-claim-evaluator.ts';
import type { QuotaEvaluator, QuotaLookups } from './evaluator.ts';
import { podEvaluator } from './pod-evaluator.ts';

/** The evaluator of a kind. */
export function evaluatorFor(
  info: { readonly group: string; readonly resource: string },
  lookups: QuotaLookups,
): QuotaEvaluator {
  if (info.group === '' && info.resource === 'pods') return podEvaluator;
  if (info.group === '' && info.resource === 'services') return services;
  if (info.group === '' && info.resource === 'persistentvolumeclaims') return claims;
  if (info.group === 'resource.k8s.io' && info.resource === 'resourceclaims')
    return createDeviceClaimEvaluator(lookups);
  return counter(info);
}

const LEGACY_COUNTS = ['configmaps', 'secrets', 'replicationcontrollers', 'resourcequotas'];

function counter(info: { readonly group: string; readonly resource: string }): QuotaEvaluator {
  const names = [
    `count/${groupResourceOf(info)}`,
    ...(info.group === '' && LEGACY_COUNTS.includes(info.resource) ? [info.resource] : []),
  ];
  return {
    names,
    measures: (name) => names.includes(name),
    usage: () => Object.fromEntries(names.map((name) => [name, '1'])),
    scope: () => false,
    constraints: () => undefined,
  };
}

const SERVICE_NAMES = ['services', 'services.nodeports', 'services.loadbalancers', 'count/services'];

const services: QuotaEvaluator = {
  names: SERVICE_NAMES,
  measures: (name) => SERVICE_NAMES.includes(name),
  usage(object) {
    const { type, ports = [], allocateLoadBalancerNodePorts } = (object as Service).spec ?? {};
    const balanced = type === 'LoadBalancer';
    // When a load balancer can work without node ports, they count only if they are set.
    const allocates = type === 'NodePort' || (balanced && allocateLoadBalancerNodePorts !== false);
    const nodePorts = allocates
      ? ports.length
      : balanced
        ? ports.filter((port) => (port.nodePort ?? 0) !== 0).length
        : 0;
    return {
      services: '1',
      'count/services': '1',
      'services.nodeports': String(nodePorts),
      'services.loadbalancers': balanced ? '1' : '0',
    };
  },
  scope: () => false,
  constraints: () => undefined,
};

/** In whole bytes; an allocation by a failed expansion counts until it is released. */
function storageOf({ spec, status }: PersistentVolumeClaim): string | undefined {
  const wanted = spec?.resources?.requests?.['storage'];
  const allocated = status?.allocatedResources?.['storage'];
  if (wanted === undefined) return undefined;
  return inWholeUnits(allocated !== undefined && compareQuantities(allocated, wanted) > 0 ? allocated : wanted);
}

function inWholeUnits(quantity: string): string {
  const { nanos, format } = parseQuantity(quantity);
  return nanos % NANOS === 0n ? quantity : formatQuantity({ nanos: (nanos / NANOS + 1n) * NANOS, format });
}

const NANOS = 1_000_000_000n;
const CLASS_SUFFIX = '.storageclass.storage.k8s.io/';

const claims: QuotaEvaluator = {
  measures: (name) =>
    ['persistentvolumeclaims', 'count/persistentvolumeclaims', 'requests.storage'].includes(name) ||
    name.endsWith(`${CLASS_SUFFIX}requests.storage`) ||
    name.endsWith(`${CLASS_SUFFIX}persistentvolumeclaims`),
  usage(object) {
    const claim = object as PersistentVolumeClaim;
    const className =
      claim.metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] ?? claim.spec?.storageClassName ?? '';
    const storage = storageOf(claim);
    const usage: Record<string, string> = { persistentvolumeclaims: '1', 'count/persistentvolumeclaims': '1' };
    if (storage !== undefined) usage['requests.storage'] = storage;
    if (className === '') return usage;
    usage[`${className}${CLASS_SUFFIX}persistentvolumeclaims`] = '1';
    if (storage !== undefined) usage[`${className}${CLASS_SUFFIX}requests.storage`] = storage;
    return usage;
  },
  scope: (name, object) =>
    name === 'VolumeAttributesClass' && ((object as PersistentVolumeClaim).spec?.volumeAttributesClassName ?? ''),
  constraints: () => undefined,
};
