/** Which claims a pod uses. Upstream: controller/volume/common PodPVCIndexFunc. */
import type { Pod } from '../api/gen/core-v1.ts';
import type { Stored } from '../api/object.ts';

/** Name of the index of pods by the keys of their claims. */
export const PODS_BY_CLAIM = 'claim';

/** `namespace/name` of each claim, including those of ephemeral volumes. */
export function claimKeysOf(pod: Stored<Pod>): string[] {
  const { namespace, name: podName } = pod.metadata;
  return (pod.spec?.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
    if (persistentVolumeClaim !== undefined) return [`${namespace}/${persistentVolumeClaim.claimName}`];
    return ephemeral === undefined ? [] : [`${namespace}/${podName}-${name}`];
  });
}
