/** Keeps the mirror of a static pod up to date. Upstream: tryReconcileMirrorPods in pkg/kubelet/kubelet.go. */
import type { Node, Pod } from '../../api/gen/core-v1.ts';
import type { Log } from '../../platform/log.ts';
import { isStaticPod, podFields, podFullName } from '../types/pod-update.ts';
import { isMirrorPodOf, type MirrorClient } from './mirror-client.ts';

/** Deletes an outdated mirror and creates a missing one. Failures are logged: the pod runs without its mirror. */
export function createMirrorReconciler(deps: {
  mirrorClient: MirrorClient;
  node: () => Node | undefined;
  log: Log;
}): (pod: Pod, mirrorPod: Pod | undefined) => Promise<void> {
  return async (pod, mirrorPod) => {
    if (!isStaticPod(pod)) return;
    let missing = mirrorPod === undefined;
    try {
      if (
        mirrorPod !== undefined &&
        (mirrorPod.metadata.deletionTimestamp !== undefined || !isMirrorPodOf(mirrorPod, pod))
      ) {
        missing = await deps.mirrorClient.deleteMirrorPod(podFullName(pod), mirrorPod.metadata.uid);
      }
      if (missing && deps.node()?.metadata.deletionTimestamp === undefined)
        await deps.mirrorClient.createMirrorPod(pod);
    } catch (error) {
      deps.log.error('Failed creating a mirror pod for', { ...podFields(pod), err: error });
    }
  };
}
