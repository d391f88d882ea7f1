/** Validation of ingresses and ingress classes. Upstream: apis/networking/validation. */
import { parseIp } from '../../base/cidr.ts';
import type { Field } from '../field-error.ts';
import type { HTTPIngressPath, Ingress, IngressBackend, IngressClass } from '../gen/networking-v1.ts';
import { isDns1123Label, isDns1123Subdomain, isPathSegmentName, isWildcardDns1123Subdomain } from '../names.ts';
import { isPortName, isPortNumber } from '../value-formats.ts';
import { validateDomainPrefixedPath, validateImmutable } from './common.ts';
import { validateIp } from './ip-fields.ts';
import { validateBalancerHostname } from './service.ts';

function validateBackend(backend: IngressBackend, field: Field): void {
  const { resource, service } = backend;
  if (resource !== undefined && service !== undefined)
    return field.invalid('', 'cannot set both resource and service backends');
  if (resource !== undefined) {
    if ((resource.kind ?? '') === '') field.at('resource').at('kind').required();
    if ((resource.name ?? '') === '') field.at('resource').at('name').required();
    return;
  }
  if (service === undefined) return field.invalid('', 'resource or service backend is required');
  const place = field.at('service');
  if ((service.name ?? '') === '') place.at('name').required();
  else place.at('name').complain(service.name, isDns1123Label(service.name));
  const { name = '', number = 0 } = service.port ?? {};
  if (name !== '' && number !== 0) field.invalid('', 'cannot set both port name & port number');
  else if (name !== '') place.at('port').at('name').complain(name, isPortName(name));
  else if (number !== 0) place.at('port').at('number').complain(number, isPortNumber(number));
  else field.required('port name or number is required');
}

const BAD_SEQUENCES = ['//', '/./', '/../', '%2f', '%2F'];
const BAD_SUFFIXES = ['/..', '/.'];

function validatePath(path: HTTPIngressPath, field: Field): void {
  const text = path.path ?? '';
  switch (path.pathType) {
    case 'Exact':
    case 'Prefix':
      if (!text.startsWith('/')) field.at('path').invalid(text, 'must be an absolute path');
      for (const bad of BAD_SEQUENCES)
        if (text.includes(bad)) field.at('path').invalid(text, `must not contain '${bad}'`);
      for (const bad of BAD_SUFFIXES)
        if (text.endsWith(bad)) field.at('path').invalid(text, `cannot end with '${bad}'`);
      break;
    case 'ImplementationSpecific':
      if (text !== '' && !text.startsWith('/')) field.at('path').invalid(text, 'must be an absolute path');
      break;
    case undefined:
      return field.at('pathType').required('pathType must be specified');
    default:
      field.at('pathType').notSupported(path.pathType, ['Exact', 'ImplementationSpecific', 'Prefix']);
  }
  validateBackend(path.backend ?? {}, field.at('backend'));
}

function validateHost(host: string, field: Field): void {
  if (parseIp(host) !== undefined) field.invalid(host, 'must be a DNS name, not an IP address');
  field.complain(host, host.includes('*') ? isWildcardDns1123Subdomain(host) : isDns1123Subdomain(host));
}

export function validateIngress(ingress: Ingress, field: Field): void {
  const spec = field.at('spec');
  const { rules = [], tls = [], defaultBackend, ingressClassName } = ingress.spec ?? {};
  if (rules.length === 0 && defaultBackend === undefined) {
    spec.invalid(ingress.spec?.rules ?? null, 'either `defaultBackend` or `rules` must be specified');
  }
  if (defaultBackend !== undefined) validateBackend(defaultBackend, spec.at('defaultBackend'));
  for (const [index, rule] of rules.entries()) {
    const place = spec.at('rules').item(index);
    if ((rule.host ?? '') !== '') validateHost(rule.host!, place.at('host'));
    if (rule.http === undefined) continue;
    if ((rule.http.paths ?? []).length === 0) place.at('http').at('paths').required();
    for (const [at, path] of (rule.http.paths ?? []).entries())
      validatePath(path, place.at('http').at('paths').item(at));
  }
  for (const [index, entry] of tls.entries()) {
    for (const [at, host] of (entry.hosts ?? []).entries()) {
      const place = spec.at('tls').item(index).at('hosts').item(at);
      place.complain(host, host.includes('*') ? isWildcardDns1123Subdomain(host) : isDns1123Subdomain(host));
    }
    if ((entry.secretName ?? '') !== '')
      spec.at('tls').item(index).at('secretName').complain(entry.secretName, isDns1123Subdomain(entry.secretName!));
  }
  if (ingressClassName !== undefined)
    spec.at('ingressClassName').complain(ingressClassName, isDns1123Subdomain(ingressClassName));
}

const CLASS_ANNOTATION = 'kubernetes.io/ingress.class';

/** The deprecated annotation `kubernetes.io/ingress.class` must not contradict `ingressClassName`. */
export function validateNewIngress(ingress: Ingress, field: Field): void {
  validateIngress(ingress, field);
  const annotated = ingress.metadata.annotations?.[CLASS_ANNOTATION];
  const { ingressClassName } = ingress.spec ?? {};
  if (annotated !== undefined && ingressClassName !== undefined && annotated !== ingressClassName)
    field
      .at('annotations')
      .at(CLASS_ANNOTATION)
      .invalid(annotated, 'must match `ingressClassName` when both are specified');
}

/** Validates the load balancer's addresses in the status. */
export function validateIngressStatusUpdate(ingress: Ingress, _old: Ingress, field: Field): void {
  const place = field.at('status').at('loadBalancer').at('ingress');
  for (const [index, { ip = '', hostname = '' }] of (ingress.status?.loadBalancer?.ingress ?? []).entries()) {
    const at = place.item(index);
    if (ip !== '') validateIp(ip, at.at('ip'));
    if (hostname !== '') validateBalancerHostname(hostname, at.at('hostname'));
  }
}

export function validateIngressClass(ingressClass: IngressClass, field: Field): void {
  const spec = field.at('spec');
  const controller = ingressClass.spec?.controller ?? '';
  if (controller.length > 250) spec.at('controller').tooLong(250);
  validateDomainPrefixedPath(controller, spec.at('controller'));
  const parameters = ingressClass.spec?.parameters;
  if (parameters === undefined) return;
  const place = spec.at('parameters');
  if (parameters.apiGroup !== undefined)
    place.at('apiGroup').complain(parameters.apiGroup, isDns1123Subdomain(parameters.apiGroup));
  if ((parameters.kind ?? '') === '') place.at('kind').required();
  else place.at('kind').complain(parameters.kind, isPathSegmentName(parameters.kind));
  if ((parameters.name ?? '') === '') place.at('name').required();
  else place.at('name').complain(parameters.name, isPathSegmentName(parameters.name));
  validateScope(parameters, place);
}

function validateScope(parameters: { scope?: string; namespace?: string }, field: Field): void {
  const namespace = parameters.namespace ?? '';
  if (parameters.scope === undefined) return field.at('scope').required();
  if (parameters.scope !== 'Cluster' && parameters.scope !== 'Namespace')
    return field.at('scope').notSupported(parameters.scope, ['Cluster', 'Namespace']);
  if (parameters.scope === 'Namespace') {
    if (parameters.namespace === undefined) field.at('namespace').required("`parameters.scope` is set to 'Namespace'");
    else field.at('namespace').complain(namespace, isDns1123Label(namespace));
  } else if (parameters.namespace !== undefined) {
    field.at('namespace').forbidden("`parameters.scope` is set to 'Cluster'");
  }
}

/** The controller of a class is immutable. */
export function validateIngressClassUpdate(ingressClass: IngressClass, old: IngressClass, field: Field): void {
  validateImmutable(ingressClass.spec?.controller ?? '', old.spec?.controller ?? '', field.at('spec').at('controller'));
  validateIngressClass(ingressClass, field);
}
