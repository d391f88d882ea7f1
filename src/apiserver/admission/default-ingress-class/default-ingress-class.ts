/** DefaultIngressClass: an ingress that names no class gets the default one; of several defaults the newest. Upstream: plugin/pkg/admission/network/defaultingressclass. */
import type { Ingress } from '../../../api/gen/networking-v1.ts';
import { IngressClasses } from '../../../api/gen/resources.ts';
import { parseTime } from '../../../api/time.ts';
import type { ObjectStore } from '../../registry/object-store.ts';
import type { AdmissionPlugin } from '../contract.ts';
import { isOn } from '../refusal.ts';

const DEFAULT = 'ingressclass.kubernetes.io/is-default-class';
const NAMED = 'kubernetes.io/ingress.class';

export function createDefaultIngressClass(objects: () => ObjectStore): AdmissionPlugin {
  return {
    name: 'DefaultIngressClass',
    handles: (operation, resource, subresource) =>
      operation === 'CREATE' && isOn(resource, subresource, { group: 'networking.k8s.io', resource: 'ingresses' }),
    mutate({ object }) {
      const ingress = object as Ingress;
      if (ingress.spec?.ingressClassName !== undefined || ingress.metadata.annotations?.[NAMED] !== undefined) return;
      const [newest] = objects()
        .list(IngressClasses)
        .filter(({ metadata }) => metadata.annotations?.[DEFAULT] === 'true')
        .toSorted(
          ({ metadata: a }, { metadata: b }) =>
            parseTime(b.creationTimestamp) - parseTime(a.creationTimestamp) ||
            ((a.name ?? '') < (b.name ?? '') ? -1 : 1),
        );
      if (newest?.metadata.name === undefined) return;
      ingress.spec = { ...ingress.spec, ingressClassName: newest.metadata.name };
    },
  };
}
