/** Validation of services. Upstream: apis/core/validation ValidateService, ValidateServiceUpdate. */
import { parseIp } from '../../base/cidr.ts';
import { deepEqual } from '../../base/equal.ts';
import type { Field } from '../field-error.ts';
import type { Service, ServicePort, ServiceSpec } from '../gen/core-v1.ts';
import { validateLabels } from '../meta-validation.ts';
import { inclusiveRangeText, isDns1123Label, isDns1123Subdomain, isQualifiedName } from '../names.ts';
import { isPortNumber } from '../value-formats.ts';
import { validateChoice, validateConditions, validateOptionalChoice, validatePortNumOrName } from './common.ts';
import { validateCidr, validateIp } from './ip-fields.ts';
import { validateClusterIps } from './service-ips.ts';

const TYPES = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];
const PROTOCOLS = ['SCTP', 'TCP', 'UDP'];
const MAX_AFFINITY_SECONDS = 86400;

function isHeadless(spec: ServiceSpec): boolean {
  return spec.type !== 'ExternalName' && spec.clusterIPs?.[0] === 'None';
}

function validatePort(port: ServicePort, needsName: boolean, field: Field): void {
  const name = port.name ?? '';
  if (needsName && name === '') field.at('name').required();
  else if (name !== '') field.at('name').complain(name, isDns1123Label(name));
  field.at('port').complain(port.port, isPortNumber(port.port));
  validateChoice(port.protocol, PROTOCOLS, field.at('protocol'));
  if (port.targetPort !== undefined) validatePortNumOrName(port.targetPort, field.at('targetPort'));
  if (port.appProtocol !== undefined)
    field.at('appProtocol').complain(port.appProtocol, isQualifiedName(port.appProtocol));
}

function validatePorts(spec: ServiceSpec, field: Field): void {
  const ports = spec.ports ?? [];
  if (ports.length === 0 && !isHeadless(spec) && spec.type !== 'ExternalName') field.required();
  const names = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const place = field.item(index);
    validatePort(port, ports.length > 1, place);
    if ((port.name ?? '') !== '' && names.has(port.name!)) place.at('name').duplicate(port.name);
    if ((port.name ?? '') !== '') names.add(port.name!);
  }
}

/** Node ports must fit the type; ports and node ports must be unique per protocol. */
function validatePortNumbers({ type, ports = [] }: ServiceSpec, field: Field): void {
  const withNodePort = [...ports.entries()].filter(([, { nodePort = 0 }]) => nodePort !== 0);
  if (type === 'ClusterIP')
    for (const [index] of withNodePort)
      field.item(index).at('nodePort').forbidden("may not be used when `type` is 'ClusterIP'");
  const seen = new Set<string>();
  for (const [index, { protocol, nodePort }] of withNodePort) {
    if (seen.has(`${protocol}/${nodePort}`)) field.item(index).at('nodePort').duplicate(nodePort);
    seen.add(`${protocol}/${nodePort}`);
  }
  seen.clear();
  for (const [index, { protocol, port }] of ports.entries()) {
    if (seen.has(`${protocol}/${port}`)) field.item(index).duplicate({ protocol, port });
    seen.add(`${protocol}/${port}`);
  }
}

function validateAffinity(spec: ServiceSpec, field: Field): void {
  validateChoice(spec.sessionAffinity, ['ClientIP', 'None'], field.at('sessionAffinity'));
  if (spec.sessionAffinity === 'ClientIP') {
    const seconds = spec.sessionAffinityConfig?.clientIP?.timeoutSeconds;
    const place = field.at('sessionAffinityConfig');
    if (spec.sessionAffinityConfig === undefined) place.required(`when session affinity type is ClientIP`);
    else if (seconds === undefined)
      place.at('clientIP').at('timeoutSeconds').required('when session affinity type is ClientIP');
    else if (seconds <= 0 || seconds > MAX_AFFINITY_SECONDS) {
      place
        .at('clientIP')
        .at('timeoutSeconds')
        .invalid(seconds, `must be greater than 0 and less than ${MAX_AFFINITY_SECONDS}`);
    }
  } else if (spec.sessionAffinity === 'None' && spec.sessionAffinityConfig !== undefined) {
    field.at('sessionAffinityConfig').forbidden('must not be set when session affinity is None');
  }
}

function validateTypeFields(spec: ServiceSpec, field: Field): void {
  switch (spec.type) {
    case 'ExternalName': {
      const name = spec.externalName ?? '';
      if (name === '') field.at('externalName').required();
      else field.at('externalName').complain(name.replace(/\.$/, ''), isDns1123Subdomain(name.replace(/\.$/, '')));
      break;
    }
    case 'LoadBalancer':
    case 'NodePort':
      if (isHeadless(spec))
        field.at('clusterIPs').item(0).invalid('None', `may not be set to 'None' for ${spec.type} services`);
      break;
    default:
  }
  if (spec.type !== 'LoadBalancer') {
    if ((spec.loadBalancerSourceRanges ?? []).length > 0)
      field.at('LoadBalancerSourceRanges').forbidden("may only be used when `type` is 'LoadBalancer'");
    if (spec.allocateLoadBalancerNodePorts !== undefined)
      field.at('allocateLoadBalancerNodePorts').forbidden("may only be used when `type` is 'LoadBalancer'");
    if (spec.loadBalancerClass !== undefined)
      field.at('loadBalancerClass').forbidden("may only be used when `type` is 'LoadBalancer'");
  } else if (spec.allocateLoadBalancerNodePorts === undefined) {
    field.at('allocateLoadBalancerNodePorts').required();
  }
  if (spec.loadBalancerClass !== undefined && spec.type === 'LoadBalancer')
    field.at('loadBalancerClass').complain(spec.loadBalancerClass, isQualifiedName(spec.loadBalancerClass));
  for (const [index, range] of (spec.loadBalancerSourceRanges ?? []).entries())
    if (!field.at('loadBalancerSourceRanges').item(index).wasThere(range))
      validateCidr(range.trim(), field.at('LoadBalancerSourceRanges').item(index));
}

function validateTrafficPolicies(spec: ServiceSpec, field: Field): void {
  const external = spec.externalTrafficPolicy ?? '';
  const accessible =
    spec.type === 'LoadBalancer' ||
    spec.type === 'NodePort' ||
    (spec.type === 'ClusterIP' && (spec.externalIPs ?? []).length > 0);
  if (!accessible) {
    if (external !== '')
      field.at('externalTrafficPolicy').invalid(external, 'may only be set for externally-accessible services');
  } else validateChoice(external, ['Cluster', 'Local'], field.at('externalTrafficPolicy'));
  const health = spec.healthCheckNodePort ?? 0;
  if (health !== 0 && !(spec.type === 'LoadBalancer' && external === 'Local')) {
    field
      .at('healthCheckNodePort')
      .invalid(health, "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'");
  } else if (health < 0 || health > 65535)
    field.at('healthCheckNodePort').invalid(health, inclusiveRangeText(1, 65535));
  const internal = field.at('internalTrafficPolicy');
  const isRequired = ['ClusterIP', 'LoadBalancer', 'NodePort'].includes(spec.type ?? '');
  if (spec.internalTrafficPolicy === undefined && isRequired) internal.required();
  validateOptionalChoice(spec.internalTrafficPolicy, ['Cluster', 'Local'], internal);
  if (spec.trafficDistribution !== undefined) {
    validateOptionalChoice(
      spec.trafficDistribution,
      ['PreferClose', 'PreferSameZone', 'PreferSameNode'],
      field.at('trafficDistribution'),
    );
  }
}

export function validateService(service: Service, field: Field): void {
  const spec = service.spec ?? {};
  const place = field.at('spec');
  validateChoice(spec.type, TYPES, place.at('type'));
  validatePorts(spec, place.at('ports'));
  validateLabels(spec.selector, place.at('selector'));
  validateAffinity(spec, place);
  validateClusterIps(spec, place);
  for (const [index, ip] of (spec.externalIPs ?? []).entries()) {
    const at = place.at('externalIPs').item(index);
    validateIp(ip, at);
    const parsed = parseIp(ip);
    if (parsed?.value === 0n) at.invalid(ip, 'may not be unspecified (0.0.0.0 or ::)');
    if (parsed !== undefined && (ip.startsWith('127.') || parsed.value === 1n))
      at.invalid(ip, 'may not be in the loopback range (127.0.0.0/8, ::1/128)');
    if (ip.startsWith('169.254.')) at.invalid(ip, 'may not be in the link-local range (169.254.0.0/16, fe80::/10)');
  }
  validatePortNumbers(spec, place.at('ports'));
  validateTypeFields(spec, place);
  validateTrafficPolicies(spec, place);
}

/** Validates an update: the cluster address is immutable while the type has one. */
export function validateServiceUpdate(service: Service, old: Service, field: Field): void {
  const place = field.at('spec');
  const [spec, before] = [service.spec ?? {}, old.spec ?? {}];
  const keepsAddress = before.type !== 'ExternalName' && spec.type !== 'ExternalName';
  if (keepsAddress && (before.clusterIPs ?? []).length > 0) {
    const first = spec.clusterIPs?.[0] ?? '';
    if (first !== before.clusterIPs![0])
      place
        .at('clusterIPs')
        .item(0)
        .invalid(spec.clusterIPs ?? null, 'may not change once set');
    const [second, oldSecond] = [spec.clusterIPs?.[1], before.clusterIPs![1]];
    if (second !== undefined && oldSecond !== undefined && second !== oldSecond)
      place.at('clusterIPs').item(1).invalid(spec.clusterIPs, 'may not change once set');
    if ((spec.ipFamilies ?? [])[0] !== (before.ipFamilies ?? [])[0] && before.ipFamilies !== undefined) {
      place
        .at('ipFamilies')
        .item(0)
        .invalid(spec.ipFamilies ?? null, 'may not change once set');
    }
  }
  if (before.type === 'LoadBalancer' && spec.type === 'LoadBalancer')
    if (spec.loadBalancerClass !== before.loadBalancerClass)
      place.at('loadBalancerClass').invalid(spec.loadBalancerClass, 'may not change once set');
  if (
    (before.healthCheckNodePort ?? 0) !== 0 &&
    before.type === spec.type &&
    before.externalTrafficPolicy === spec.externalTrafficPolicy
  ) {
    if ((spec.healthCheckNodePort ?? 0) !== before.healthCheckNodePort)
      place.at('healthCheckNodePort').forbidden('field is immutable');
  }
  validateService(service, field);
}

/** Validates the host name of a load balancer in the status of services and ingresses. */
export function validateBalancerHostname(hostname: string, field: Field): void {
  field.complain(hostname, isDns1123Subdomain(hostname));
  if (parseIp(hostname) !== undefined) field.invalid(hostname, 'must be a DNS name, not an IP address');
}

/** Validates a status: only services of type LoadBalancer may have load balancer addresses. */
export function validateServiceStatusUpdate(service: Service, old: Service, field: Field): void {
  const place = field.at('status');
  const ingress = service.status?.loadBalancer?.ingress ?? [];
  for (const [index, entry] of ingress.entries()) {
    const at = place.at('loadBalancer').at('ingress').item(index);
    if ((entry.ip ?? '') !== '') validateIp(entry.ip!, at.at('ip'));
    if ((entry.hostname ?? '') !== '') validateBalancerHostname(entry.hostname!, at.at('hostname'));
    validateOptionalChoice(entry.ipMode, ['Proxy', 'VIP'], at.at('ipMode'));
  }
  const changed = !deepEqual(service.status?.loadBalancer ?? {}, old.status?.loadBalancer ?? {});
  if (changed && old.spec?.type !== 'LoadBalancer' && ingress.length > 0)
    place.at('loadBalancer').forbidden("may only be used when `spec.type` is 'LoadBalancer'");
  validateConditions(service.status?.conditions, place.at('conditions'));
}
