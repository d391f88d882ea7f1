/** ExtendedResourceToleration: pods that ask for an extended resource tolerate the taint of nodes kept for it. Upstream: plugin/pkg/admission/extendedresourcetoleration. */
import { podsCreatedOrUpdated } from '../refusal.ts';
import { podContainers } from '../../../api/pod-containers.ts';
import type { Pod } from '../../../api/gen/core-v1.ts';
import { isExtendedResource } from '../../../api/validation/resource-names.ts';
import type { AdmissionPlugin } from '../contract.ts';

export function createExtendedResourceToleration(): AdmissionPlugin {
  return {
    name: 'ExtendedResourceToleration',
    handles: podsCreatedOrUpdated,
    mutate({ object }) {
      const { spec } = object as Pod;
      if (spec === undefined) return;
      const asked = podContainers(spec).flatMap((container) => Object.keys(container.resources?.requests ?? {}));
      const tolerations = spec.tolerations ?? [];
      const sufficient = tolerations.filter(
        ({ operator, effect }) => operator === 'Exists' && (effect === undefined || effect === 'NoSchedule'),
      );
      const tolerated = new Set(sufficient.map(({ key }) => key));
      const missing = [...new Set(asked.filter(isExtendedResource))].filter((key) => !tolerated.has(key));
      if (missing.length === 0) return;
      const added = missing.map((key) => ({ key, operator: 'Exists', effect: 'NoSchedule' }) as const);
      spec.tolerations = [...tolerations, ...added];
    },
  };
}
