/**
 * Administrator access to devices that others use: allowed only in namespaces labelled for it. Stored requests stay
 * valid. Upstream: dynamic-resource-allocation/resourceutils (AuthorizedForAdmin), called by the strategies.
 */
import { Namespaces } from '../../../api/gen/resources.ts';
import type { ResourceClaim, ResourceClaimTemplate } from '../../../api/gen/resource-v1.ts';
import { invalid } from '../../../api/status-error.ts';
import type { ObjectStore } from '../../registry/object-store.ts';
import type { AdmissionPlugin } from '../contract.ts';

const LABEL = 'resource.kubernetes.io/admin-access';

/** The path of the first request with adminAccess. In v1beta1 the field is in the request itself. */
function adminRequestIn({ spec }: ResourceClaim | ResourceClaimTemplate): string | undefined {
  const claim: ResourceClaim['spec'] | undefined = spec !== undefined && 'spec' in spec ? spec.spec : spec;
  const requests: readonly { readonly exactly?: object; readonly adminAccess?: boolean }[] =
    claim?.devices?.requests ?? [];
  const at = requests.findIndex((request) => {
    const { adminAccess }: { adminAccess?: boolean } = request.exactly ?? request;
    return adminAccess === true;
  });
  return at < 0 ? undefined : `spec.devices.requests[${at}].adminAccess`;
}

function grantIn(claim: ResourceClaim | undefined): string | undefined {
  const results = claim?.status?.allocation?.devices?.results ?? [];
  const at = results.findIndex(({ adminAccess }) => adminAccess === true);
  return at < 0 ? undefined : `status.allocation.devices.results[${at}].adminAccess`;
}

export function createDeviceAdminAccess(objects: () => ObjectStore): AdmissionPlugin {
  return {
    name: 'DeviceAdminAccess',
    handles: (operation, { group, resource }, subresource) =>
      group === 'resource.k8s.io' &&
      ((operation === 'CREATE' && subresource === '' && /^resourceclaim(s|templates)$/.test(resource)) ||
        (operation === 'UPDATE' && subresource === 'status' && resource === 'resourceclaims')),
    async validate({ operation, object, oldObject, resource, namespace, name }) {
      const field =
        operation === 'CREATE'
          ? adminRequestIn(object as ResourceClaim)
          : grantIn(oldObject as ResourceClaim) === undefined
            ? grantIn(object as ResourceClaim)
            : undefined;
      if (field === undefined) return;
      const home = objects().get(Namespaces, '', namespace) ?? (await objects().getFresh(Namespaces, '', namespace));
      if (home?.metadata.labels?.[LABEL] === 'true') return;
      throw invalid(resource, name, [
        {
          reason: 'FieldValueForbidden',
          field,
          text: `Forbidden: admin access to devices requires the \`${LABEL}: true\` label on the containing namespace`,
        },
      ]);
    },
  };
}
