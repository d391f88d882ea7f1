/**
 * Sets a service's ipFamilyPolicy and ipFamilies from the user's choice and the cluster's families, before addresses
 * are allocated. Upstream: alloc.go initIPFamilyFields.
 */
import { Field } from '../../../../api/field-error.ts';
import type { Service, ServiceSpec } from '../../../../api/gen/core-v1.ts';
import { invalid } from '../../../../api/status-error.ts';
import { parseIp } from '../../../../base/cidr.ts';
import type { IpFamily } from './allocation.ts';
import { isHeadless, serviceType } from './service-fields.ts';

/** Family of an address text. */
function familyOf(ip: string): IpFamily | undefined {
  const parsed = parseIp(ip);
  return parsed === undefined ? undefined : parsed.family === 4 ? 'IPv4' : 'IPv6';
}

/** Sets the family fields of a draft in place. Throws a StatusError when the cluster does not support them. */
export function fillIpFamilies(draft: Service, old: Service | undefined, cluster: readonly IpFamily[]): void {
  if (serviceType(draft) === 'ExternalName') return;
  const spec = (draft.spec ??= {});
  if (old !== undefined) trimToSingleStack(spec, old.spec);
  inferFamilies(spec);
  spec.ipFamilyPolicy ??= inferPolicy(draft, spec);
  const floating = isHeadless(draft) && Object.keys(spec.selector ?? {}).length === 0;
  checkCluster(draft, cluster, floating);
  const families = (spec.ipFamilies ??= []);
  if (families.length === 0) families.push(cluster[0]!);
  if (families.length === 1 && wantsSecond(spec.ipFamilyPolicy, cluster, floating) && !isUpgradeByCluster(draft, old)) {
    families.push(families[0] === 'IPv4' ? 'IPv6' : 'IPv4');
  }
}

/** A change to SingleStack that does not say which family to drop drops the second. */
function trimToSingleStack(spec: ServiceSpec, old: ServiceSpec | undefined): void {
  if (
    spec.ipFamilyPolicy !== 'SingleStack' ||
    old?.ipFamilyPolicy === 'SingleStack' ||
    old?.ipFamilyPolicy === undefined
  )
    return;
  if (spec.clusterIPs?.length === 2 && String(spec.clusterIPs) === String(old.clusterIPs))
    spec.clusterIPs = [spec.clusterIPs[0]!];
  if (spec.ipFamilies?.length === 2 && String(spec.ipFamilies) === String(old.ipFamilies))
    spec.ipFamilies = [spec.ipFamilies[0]!];
}

function inferFamilies(spec: ServiceSpec): void {
  const families = [...(spec.ipFamilies ?? [])];
  for (const [index, ip] of (spec.clusterIPs ?? []).entries()) {
    const family = familyOf(ip);
    if (family !== undefined && index >= families.length) families.push(family);
  }
  if (families.length > 0) spec.ipFamilies = families;
}

function inferPolicy(draft: Service, spec: ServiceSpec): string {
  if ((spec.clusterIPs ?? []).length === 2 || (spec.ipFamilies ?? []).length === 2) return 'RequireDualStack';
  const floating = isHeadless(draft) && Object.keys(spec.selector ?? {}).length === 0;
  return floating && (spec.ipFamilies ?? []).length === 0 ? 'RequireDualStack' : 'SingleStack';
}

function checkCluster(draft: Service, cluster: readonly IpFamily[], floating: boolean): void {
  // Headless services without selector may have addresses of families that the cluster lacks.
  if (floating) return;
  const field = Field.root().at('spec');
  const spec = draft.spec!;
  if (spec.ipFamilyPolicy === 'RequireDualStack' && cluster.length < 2) {
    field.at('ipFamilyPolicy').invalid(spec.ipFamilyPolicy, 'this cluster is not configured for dual-stack services');
  }
  for (const [index, family] of (spec.ipFamilies ?? []).entries()) {
    if ((family === 'IPv4' || family === 'IPv6') && !cluster.includes(family)) {
      field.at('ipFamilies').item(index).invalid(family, 'not configured on this cluster');
    }
  }
  if (field.errors.length > 0) throw invalid({ group: '', kind: 'Service' }, draft.metadata.name ?? '', field.errors);
}

function wantsSecond(policy: string, cluster: readonly IpFamily[], floating: boolean): boolean {
  if (policy === 'RequireDualStack') return true;
  return policy === 'PreferDualStack' && (cluster.length === 2 || floating);
}

/** Whether the update would only change a service because the cluster has gained a family, which must not happen. */
function isUpgradeByCluster(draft: Service, old: Service | undefined): boolean {
  return (
    old?.spec?.ipFamilyPolicy === 'PreferDualStack' &&
    draft.spec?.ipFamilyPolicy === 'PreferDualStack' &&
    (old.spec.ipFamilies ?? []).length === 1 &&
    String(old.spec.ipFamilies) === String(draft.spec.ipFamilies)
  );
}
