/** DefaultTolerationSeconds: a pod tolerates a not-ready or unreachable node for five minutes unless it says otherwise. Upstream: plugin/pkg/admission/defaulttolerationseconds. */
import type { Pod, Toleration } from '../../../api/gen/core-v1.ts';
import type { AdmissionPlugin } from '../contract.ts';

const KEYS = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'];
const DEFAULT_SECONDS = 300;

/** Creates the plugin. */
export function createDefaultTolerationSeconds(): AdmissionPlugin {
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
      const has = (key: string): boolean => (spec.tolerations ?? []).some((t) => covers(t, key));
      const missing = KEYS.filter((key) => !has(key));
      if (missing.length === 0) return;
      spec.tolerations = [
        ...(spec.tolerations ?? []),
        ...missing.map((key) => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: DEFAULT_SECONDS })),
      ];
    },
  };
}

function covers(toleration: Toleration, key: string): boolean {
  const effect = toleration.effect ?? '';
  return ((toleration.key ?? '') === key || (toleration.key ?? '') === '') && (effect === '' || effect === 'NoExecute');
}
