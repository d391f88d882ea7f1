/** LimitPodHardAntiAffinityTopology: required anti-affinity only between single nodes. Upstream: plugin/pkg/admission/antiaffinity. */
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { AdmissionPlugin } from '../contract.ts';
import { refusal, podsCreatedOrUpdated } from '../refusal.ts';

export function createLimitPodHardAntiAffinityTopology(): AdmissionPlugin {
  return {
    name: 'LimitPodHardAntiAffinityTopology',
    handles: podsCreatedOrUpdated,
    validate(attributes) {
      const terms =
        (attributes.object as Pod).spec?.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ??
        [];
      const wide = terms.find(({ topologyKey }) => topologyKey !== 'kubernetes.io/hostname');
      if (wide === undefined) return;
      throw refusal(
        attributes,
        `affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey ${wide.topologyKey} but only key kubernetes.io/hostname is allowed`,
      );
    },
  };
}
