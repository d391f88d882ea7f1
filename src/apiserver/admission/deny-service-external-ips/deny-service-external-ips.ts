/** DenyServiceExternalIPs: external IPs of services cannot be added. Upstream: plugin/pkg/admission/network/denyserviceexternalips. */
import type { Service } from '../../../api/gen/core-v1.ts';
import type { AdmissionPlugin } from '../contract.ts';
import { isOn, refusal } from '../refusal.ts';

export function createDenyServiceExternalIps(): AdmissionPlugin {
  return {
    name: 'DenyServiceExternalIPs',
    handles: (operation, resource, subresource) =>
      (operation === 'CREATE' || operation === 'UPDATE') && isOn(resource, subresource, { resource: 'services' }),
    validate(attributes) {
      const before = new Set((attributes.oldObject as Service | undefined)?.spec?.externalIPs);
      const added = ((attributes.object as Service).spec?.externalIPs ?? []).filter((ip) => !before.has(ip));
      if (added.length > 0) throw refusal(attributes, 'Use of external IPs is denied by admission control.');
    },
  };
}
