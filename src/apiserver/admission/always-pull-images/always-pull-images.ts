/** AlwaysPullImages: every image is pulled with the pod's own credentials. Upstream: plugin/pkg/admission/alwayspullimages. */
import type { Pod } from '../../../api/gen/core-v1.ts';
import { notSupported } from '../../../api/field-error.ts';
import type { AdmissionPlugin } from '../contract.ts';
import { refusal, podsOrEphemeralContainersWritten } from '../refusal.ts';

interface Pulled {
  pullPolicy?: string;
  imagePullPolicy?: string;
}

interface PullPolicyField {
  readonly holder: Pulled;
  readonly field: 'imagePullPolicy' | 'pullPolicy';
  readonly path: string;
}

function placesOf({ spec }: Pod): PullPolicyField[] {
  const containers = (['initContainers', 'containers', 'ephemeralContainers'] as const).flatMap((list) =>
    (spec?.[list] ?? []).map((holder, index) => ({
      holder,
      field: 'imagePullPolicy' as const,
      path: `spec.${list}[${index}].imagePullPolicy`,
    })),
  );
  const volumes = (spec?.volumes ?? []).flatMap(({ image }, index) =>
    image === undefined
      ? []
      : [{ holder: image, field: 'pullPolicy' as const, path: `spec.volumes[${index}].image.pullPolicy` }],
  );
  return [...containers, ...volumes];
}

export function createAlwaysPullImages(): AdmissionPlugin {
  return {
    name: 'AlwaysPullImages',
    handles: podsOrEphemeralContainersWritten,
    mutate({ object }) {
      for (const { holder, field } of placesOf(object as Pod)) holder[field] = 'Always';
    },
    validate(attributes) {
      for (const { holder, field, path } of placesOf(attributes.object as Pod)) {
        if (holder[field] === 'Always') continue;
        throw refusal(attributes, `${path}: ${notSupported(path, holder[field], ['Always']).text}`);
      }
    },
  };
}
