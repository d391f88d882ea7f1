// Validation of services' cluster addresses. Upstream: core/validation (ValidateServiceClusterIPsRelatedFields).
import { parseIp } from '../../base/cidr.ts';
import type { Field } from '../field-error.ts';
import type { ServiceSpec } from '../gen/core-v1.ts';
import { validateOptionalChoice } from './common.ts';
import { validateIp } from './ip-fields.ts';

export function validateClusterIps(spec: ServiceSpec, field: Field): void {
  const ips = spec.clusterIPs ?? [];
  if (spec.type === 'ExternalName') {
    for (const name of ['clusterIPs', 'ipFamilies', 'ipFamilyPolicy'] as const) {
      if ((spec[name] ?? '').length > 0) field.at(name).forbidden('may not be set for ExternalName services');
    }
    return;
  }
  if ((spec.clusterIP ?? '') !== '' && ips[0] !== spec.clusterIP)
    field.at('clusterIPs').invalid(ips, 'first value must match `clusterIP`');
  if (ips.length > 2) field.at('clusterIPs').invalid(ips, 'may only hold up to 2 values');
  const families = spec.ipFamilies ?? [];
  const seen = new Set<string>();
  for (const [index, family] of families.entries()) {
    if (family !== 'IPv4' && family !== 'IPv6')
      field.at('ipFamilies').item(index).notSupported(family, ['IPv4', 'IPv6']);
    if (seen.has(family)) field.at('ipFamilies').item(index).duplicate(family);
    seen.add(family);
  }
  if (families.length > 2) field.at('ipFamilies').invalid(families, 'may only hold up to 2 values');
  validateOptionalChoice(
    spec.ipFamilyPolicy,
    ['PreferDualStack', 'RequireDualStack', 'SingleStack'],
    field.at('ipFamilyPolicy'),
  );
  for (const [index, ip] of ips.entries()) validateClusterIp(spec, { ip, index }, field);
  if (spec.ipFamilyPolicy === 'SingleStack') {
    if (ips.length > 1)
      field
        .at('ipFamilyPolicy')
        .invalid(
          spec.ipFamilyPolicy,
          'must be RequireDualStack or PreferDualStack when multiple clusterIPs are specified',
        );
    if (families.length > 1)
      field
        .at('ipFamilyPolicy')
        .invalid(
          spec.ipFamilyPolicy,
          'must be RequireDualStack or PreferDualStack when multiple ipFamilies are specified',
        );
  }
}

function validateClusterIp(spec: ServiceSpec, { ip, index }: { ip: string; index: number }, field: Field): void {
  const place = field.at('clusterIPs').item(index);
  if (ip === 'None') {
    if (index > 0) place.invalid(ip, `must be empty, a valid IP, or 'None'`);
    else if ((spec.clusterIPs ?? []).length > 1)
      field.at('clusterIPs').invalid(spec.clusterIPs, "'None' must be the first and only value");
    return;
  }
  if (ip === '') return;
  validateIp(ip, place);
  const parsed = parseIp(ip);
  const family = spec.ipFamilies?.[index];
  if (parsed === undefined || family === undefined) return;
  if ((parsed.family === 4 ? 'IPv4' : 'IPv6') !== family)
    place.invalid(ip, `expected an ${family} value as indicated by \`ipFamilies[${index}]\``);
}
