/** DefaultTolerationSeconds: a pod tolerates a not-ready or unreachable node for five minutes unless it has tolerations of its own for that. Upstream: plugin/pkg/admission/defaulttolerationseconds. */
import type { Pod, Toleration } from '../../../api/gen/core-v1.ts';
import type { AdmissionPlugin } from '../contract.ts';

/** How long a pod without such tolerations stays on such a node. */
export interface TolerationSeconds {
  readonly notReady: number;
  readonly unreachable: number;
}

export function createDefaultTolerationSeconds(
  { notReady, unreachable }: TolerationSeconds = { notReady: 300, unreachable: 300 },
): AdmissionPlugin {
  const tolerations = [
    tolerationOf('node.kubernetes.io/not-ready', notReady),
    tolerationOf('node.kubernetes.io/unreachable', unreachable),
  ];
  return {
    name: 'DefaultTolerationSeconds',
    handles: (operation, resource, subresource) =>
      resource.resource === 'pods' &&
      resource.group === '' &&
      subresource === '' &&
      (operation === 'CREATE' || operation === 'UPDATE'),
    mutate(attributes) {
      const spec = (attributes.object as Pod).spec;
      if (spec === undefined) return;
      const own = spec.tolerations ?? [];
      const missing = tolerations.filter(({ key }) => !own.some((t) => covers(t, key)));
      if (missing.length > 0) spec.tolerations = own.concat(missing);
    },
  };
}

/** Frozen, since all pods without such tolerations share it. */
function tolerationOf(key: string, tolerationSeconds: number): Toleration & { readonly key: string } {
  return Object.freeze({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds });
}

function covers(toleration: Toleration, key: string): boolean {
  const effect = toleration.effect ?? '';
  return ((toleration.key ?? '') === key || (toleration.key ?? '') === '') && (effect === '' || effect === 'NoExecute');
}
