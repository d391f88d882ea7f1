/**
 * Permissions for the parts of a ResourceClaim's status, beside the permission to write the status:
 * - who binds (changes `allocation` or `reservedFor`) needs the verb on `resourceclaims/binding` in the whole cluster;
 * - who changes `devices` needs, for each driver by its name, `arbitrary-node:VERB` on `resourceclaims/driver`, or
 *   `associated-node:VERB` as a service account on the one node that the claim is allocated for.
 * Neither sub-resource is served. Deallocation removes the statuses of devices, which needs the permission to bind alone.
 * Upstream: registry/resource/utils.go (AuthorizedForBinding, AuthorizedForDeviceStatus), called by the strategy
 * (DRAResourceClaimGranularStatusAuthorization).
 */
import type { AllocatedDeviceStatus, AllocationResult, ResourceClaim } from '../../../api/gen/resource-v1.ts';
import { forbiddenField } from '../../../api/field-error.ts';
import { type FieldCause, invalid } from '../../../api/status-error.ts';
import { deviceId, dropStatusOfReturnedDevices } from '../../../api/validation/resource-claim-status.ts';
import { deepEqual } from '../../../base/equal.ts';
import { associatedNodeOf } from '../../../component-helpers/user-names.ts';
import type { Authorizer } from '../../authz/contract.ts';
import { forbiddenError } from '../../filters/authorization.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../contract.ts';

type Status = NonNullable<ResourceClaim['status']>;

export function createClaimStatusAuthorization(authorizer: Authorizer): AdmissionPlugin {
  return {
    name: 'ClaimStatusAuthorization',
    handles: (operation, { group, resource }, subresource) =>
      operation === 'UPDATE' &&
      subresource === 'status' &&
      group === 'resource.k8s.io' &&
      resource === 'resourceclaims',
    async validate(attributes) {
      const claim = attributes.object as ResourceClaim;
      const old = attributes.oldObject as ResourceClaim;
      const causes = [
        ...(await bindingCauses(authorizer, attributes, { status: claim.status ?? {}, old: old.status ?? {} })),
        ...(await deviceCauses(authorizer, attributes, { claim, old })),
      ];
      if (causes.length > 0) throw invalid(attributes.resource, attributes.name, causes);
    },
  };
}

async function bindingCauses(
  authorizer: Authorizer,
  attributes: AdmissionAttributes,
  { status, old }: { status: Status; old: Status },
): Promise<FieldCause[]> {
  if (deepEqual(status.allocation, old.allocation) && deepEqual(status.reservedFor ?? [], old.reservedFor ?? []))
    return [];
  const { verb } = attributes.context.info;
  const refusal = await refusalOf(authorizer, attributes, { verb, subresource: 'binding', namespace: '', name: '' });
  if (refusal === undefined) return [];
  const what = 'changing status.allocation or status.reservedFor';
  return [
    forbiddenField(
      'status',
      `${what} requires resource="resourceclaims/binding", verb="${verb}" permission: ${refusal}`,
    ),
  ];
}

async function deviceCauses(
  authorizer: Authorizer,
  attributes: AdmissionAttributes,
  { claim, old }: { claim: ResourceClaim; old: ResourceClaim },
): Promise<FieldCause[]> {
  const drivers = changedDrivers(claim.status?.devices ?? [], keptDevices(claim, old));
  if (drivers.length === 0) return [];
  const { context, namespace } = attributes;
  const { verb } = context.info;
  const node = onlyNode(claim.status?.allocation);
  const isThere = node !== undefined && associatedNodeOf(context.user) === node;
  const verbs = [...(isThere ? [`associated-node:${verb}`] : []), `arbitrary-node:${verb}`];
  const causes: FieldCause[] = [];
  for (const name of drivers) {
    const refusals: string[] = [];
    for (const each of verbs) {
      const asked = { verb: each, subresource: 'driver', namespace, name };
      const refusal = await refusalOf(authorizer, attributes, asked);
      if (refusal === undefined) break;
      refusals.push(refusal);
    }
    if (refusals.length < verbs.length) continue;
    const needs = `resource="resourceclaims/driver", verb="[${verbs.join(' ')}]" permission`;
    causes.push(forbiddenField('status.devices', `changing status.devices requires ${needs}: ${refusals[0]}`));
  }
  return causes;
}

/** Device statuses of the old object for devices that are still allocated. */
function keptDevices(claim: ResourceClaim, old: ResourceClaim): readonly AllocatedDeviceStatus[] {
  const { allocation } = claim.status ?? {};
  const status: Status = {
    ...(allocation && { allocation }),
    ...(old.status?.devices && { devices: old.status.devices }),
  };
  const resourceClaim: ResourceClaim = { ...claim, status };
  dropStatusOfReturnedDevices(resourceClaim, old);
  return resourceClaim.status?.devices ?? [];
}

/** Names of the drivers whose device statuses changed, sorted. */
function changedDrivers(now: readonly AllocatedDeviceStatus[], before: readonly AllocatedDeviceStatus[]): string[] {
  const devicesBefore = new Map(before.map((device) => [deviceId(device), device]));
  const drivers = new Set<string>();
  for (const device of now) {
    const key = deviceId(device);
    if (!deepEqual(devicesBefore.get(key), device)) drivers.add(device.driver);
    devicesBefore.delete(key);
  }
  for (const { driver } of devicesBefore.values()) drivers.add(driver);
  return [...drivers].toSorted();
}

/** The node to which the allocation is limited, when it names exactly one. */
function onlyNode(allocation: AllocationResult | undefined): string | undefined {
  const [term, ...otherTerms] = allocation?.nodeSelector?.nodeSelectorTerms ?? [];
  const [field, ...otherFields] = term?.matchFields ?? [];
  const plain = otherTerms.length === 0 && otherFields.length === 0 && (term?.matchExpressions ?? []).length === 0;
  if (!plain || field?.key !== 'metadata.name' || field.operator !== 'In') return undefined;
  return field.values?.length === 1 ? field.values[0] : undefined;
}

/** The reason for refusing the user; undefined: allowed. */
async function refusalOf(
  authorizer: Authorizer,
  { context, resource }: AdmissionAttributes,
  what: { verb: string; subresource: string; namespace: string; name: string },
): Promise<string | undefined> {
  const asked = {
    user: context.user,
    isResourceRequest: true,
    apiGroup: resource.group,
    apiVersion: resource.version,
    resource: resource.resource,
    path: '',
    ...what,
  };
  const { decision, reason } = await authorizer.authorize(asked);
  return decision === 'allow' ? undefined : forbiddenError(asked, reason).message;
}
