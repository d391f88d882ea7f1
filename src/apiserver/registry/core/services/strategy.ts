/**
 * The strategy of services: families, kept addresses, and fields that a change of type drops. Upstream:
 * registry/core/service/strategy.go and storage.go (normalizeClusterIPs, patchAllocatedValues,
 * dropTypeDependentFields).
 */
import { firstBy } from '../../../../base/first-by.ts';
import { deepEqual } from '../../../../base/equal.ts';
import { setServiceDefaults } from '../../../../api/defaults/core.ts';
import type { Service } from '../../../../api/gen/core-v1.ts';
import { nameIsDnsLabel } from '../../../../api/name-checks.ts';
import {
  validateService,
  validateServiceStatusUpdate,
  validateServiceUpdate,
} from '../../../../api/validation/service.ts';
import { loadBalancerWarnings, serviceWarnings } from '../../../../api/warnings/network.ts';
import { kindStrategy, type KindRules, type StatusRules } from '../../kind-strategy.ts';
import type { Strategy } from '../../resource-definition.ts';
import type { ServiceAllocator } from './service-allocator.ts';
import { fillIpFamilies } from './service-families.ts';
import { mayHaveNodePort, needsHealthCheckNodePort, needsNodePort, typeHasClusterIp } from './service-fields.ts';

/** Keeps the single field and the list of addresses consistent, whichever of the two a client sets. */
function normalizeClusterIps(draft: Service, old: Service | undefined): void {
  const spec = draft.spec!;
  const single = spec.clusterIP ?? '';
  const list = spec.clusterIPs ?? [];
  if (old === undefined) {
    if (single !== '' && list.length === 0) spec.clusterIPs = [single];
    return;
  }
  const oldSingle = old.spec?.clusterIP ?? '';
  const oldList = old.spec?.clusterIPs ?? [];
  // A client that knows only the single field keeps the list.
  if (single === oldSingle) {
    if (list.length === 0 && oldList.length > 0) spec.clusterIPs = [...oldList];
  } else if (deepEqual(list, oldList)) {
    if (single === '') delete spec.clusterIPs;
    else spec.clusterIPs = [single];
  }
}

/** A PUT without allocated values keeps those of the service. */
function patchAllocatedValues(draft: Service, old: Service): void {
  const spec = draft.spec!;
  const oldSpec = old.spec!;
  if (typeHasClusterIp(draft) && typeHasClusterIp(old)) {
    if ((spec.clusterIP ?? '') === '' && oldSpec.clusterIP !== undefined) spec.clusterIP = oldSpec.clusterIP;
    if ((spec.clusterIPs ?? []).length === 0 && oldSpec.clusterIPs !== undefined)
      spec.clusterIPs = [...oldSpec.clusterIPs];
    spec.ipFamilyPolicy ??= oldSpec.ipFamilyPolicy;
    if ((spec.ipFamilies ?? []).length === 0 && oldSpec.ipFamilies !== undefined)
      spec.ipFamilies = [...oldSpec.ipFamilies];
  }
  if (needsNodePort(draft) && needsNodePort(old)) keepNodePorts(draft, old);
  if (needsHealthCheckNodePort(draft) && needsHealthCheckNodePort(old) && (spec.healthCheckNodePort ?? 0) === 0) {
    spec.healthCheckNodePort = oldSpec.healthCheckNodePort;
  }
}

function keepNodePorts(draft: Service, old: Service): void {
  const used = new Set((draft.spec?.ports ?? []).map((port) => `${port.protocol}/${port.nodePort ?? 0}`));
  const before = firstBy(old.spec?.ports ?? [], ({ port, protocol }) => `${protocol}/${port}`);
  for (const port of draft.spec?.ports ?? []) {
    if ((port.nodePort ?? 0) !== 0) continue;
    const nodePort = before.get(`${port.protocol}/${port.port}`)?.nodePort ?? 0;
    if (nodePort !== 0 && !used.has(`${port.protocol}/${nodePort}`)) port.nodePort = nodePort;
  }
}

/** Drops fields of the former type that the update did not change. */
function dropTypeDependentFields(draft: Service, old: Service): void {
  const spec = draft.spec!;
  const oldSpec = old.spec!;
  if (typeHasClusterIp(old) && !typeHasClusterIp(draft)) {
    const fields = [['clusterIP', 'clusterIPs'], ['ipFamilies'], ['ipFamilyPolicy']] as const;
    for (const together of fields)
      if (together.every((field) => deepEqual(spec[field], oldSpec[field])))
        for (const field of together) delete spec[field];
  }
  if (mayHaveNodePort(old) && !mayHaveNodePort(draft) && sameNodePorts(draft, old)) {
    for (const port of spec.ports ?? []) delete port.nodePort;
  }
  if (
    needsHealthCheckNodePort(old) &&
    !needsHealthCheckNodePort(draft) &&
    spec.healthCheckNodePort === oldSpec.healthCheckNodePort
  ) {
    delete spec.healthCheckNodePort;
  }
  if (oldSpec.type === 'LoadBalancer' && spec.type !== 'LoadBalancer') {
    if (spec.allocateLoadBalancerNodePorts === oldSpec.allocateLoadBalancerNodePorts)
      delete spec.allocateLoadBalancerNodePorts;
    if (spec.loadBalancerClass === oldSpec.loadBalancerClass) delete spec.loadBalancerClass;
  }
  const external = mayHaveNodePort(draft) || (spec.externalIPs ?? []).length > 0;
  if (!external && spec.externalTrafficPolicy === oldSpec.externalTrafficPolicy) delete spec.externalTrafficPolicy;
}

function sameNodePorts(draft: Service, old: Service): boolean {
  const ports = (service: Service) => new Set((service.spec?.ports ?? []).map((port) => port.nodePort ?? 0));
  const before = ports(old);
  return [...ports(draft)].every((port) => port === 0 || before.has(port));
}

/** Drops the load balancer's addresses when the service is no LoadBalancer. */
function dropStatusOfOtherTypes(draft: Service): void {
  if (draft.spec?.type !== 'LoadBalancer') draft.status = { ...draft.status, loadBalancer: {} };
}

const statusRules: StatusRules<Service> = {
  validateUpdate: validateServiceStatusUpdate,
  warnings: loadBalancerWarnings,
};

/** Strategy of services over the cluster's ranges. */
export function serviceStrategy(allocator: ServiceAllocator): {
  rules: KindRules<Service>;
  statusRules: StatusRules<Service>;
  strategy: Strategy<Service>;
} {
  const rules: KindRules<Service> = {
    emptyStatus: { loadBalancer: {} },
    validateName: nameIsDnsLabel,
    allowCreateOnUpdate: true,
    defaults: setServiceDefaults,
    prepareForCreate(draft) {
      normalizeClusterIps(draft, undefined);
      fillIpFamilies(draft, undefined, allocator.families);
    },
    prepareForUpdate(draft, old) {
      dropTypeDependentFields(draft, old);
      normalizeClusterIps(draft, old);
      patchAllocatedValues(draft, old);
      fillIpFamilies(draft, old, allocator.families);
      dropStatusOfOtherTypes(draft);
    },
    validate: validateService,
    validateUpdate: validateServiceUpdate,
    warnings: serviceWarnings,
  };
  const strategy: Strategy<Service> = {
    ...kindStrategy(rules),
    allocate(draft, old, dryRun) {
      // After validation: upstream drops it when it reads services.
      if (draft.spec?.type === 'ExternalName') delete draft.spec.internalTrafficPolicy;
      return allocator.allocate(draft, old, dryRun);
    },
  };
  return { rules, statusRules, strategy };
}
