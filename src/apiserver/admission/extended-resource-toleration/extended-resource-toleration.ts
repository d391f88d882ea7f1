/** ExtendedResourceToleration: pods that ask for an extended resource tolerate the taint of nodes kept for it. Upstream: plugin/pkg/admission/extendedresourcetoleration. */
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { AdmissionPlugin } from '../contract.ts';
import { isOn } from '../refusal.ts';

function isExtended(name: string): boolean {
  return name.includes('/') && !/(^|\.)kubernetes\.io\//.test(name) && !name.startsWith('requests.');
}

export function createExtendedResourceToleration(): AdmissionPlugin {
  return {
    name: 'ExtendedResourceToleration',
    handles: (operation, resource, subresource) =>
      (operation === 'CREATE' || operation === 'UPDATE') && isOn(resource, subresource, { resource: 'pods' }),
    mutate({ object }) {
      const { spec } = object as Pod;
      if (spec === undefined) return;
      const asked = [...(spec.initContainers ?? []), ...spec.containers].flatMap((container) =>
        Object.keys(container.resources?.requests ?? {}),
      );
      for (const key of new Set(asked.filter(isExtended))) {
        const has = (spec.tolerations ?? []).some(
          (one) =>
            one.key === key && one.operator === 'Exists' && (one.effect === undefined || one.effect === 'NoSchedule'),
        );
        if (!has) spec.tolerations = [...(spec.tolerations ?? []), { key, operator: 'Exists', effect: 'NoSchedule' }];
      }
    },
  };
}
