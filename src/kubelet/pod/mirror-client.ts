/**
 * Creates and deletes mirror pods: the API server's copies of static pods. Upstream: pkg/kubelet/pod/mirror_client.go.
 * A mirror is owned by its Node object, so that it is deleted with the node.
 */
import type { Node, Pod } from '../../api/gen/core-v1.ts';
import { Pods } from '../../api/gen/resources.ts';
import { isReason } from '../../api/status-error.ts';
import type { Client } from '../../client/client.ts';
import type { Log } from '../../platform/log.ts';
import { CONFIG_HASH_ANNOTATION, CONFIG_MIRROR_ANNOTATION, podUid } from '../types/pod-update.ts';

export interface MirrorClient {
  /** Creates the mirror of a static pod; an existing one with the same hash is no error. */
  createMirrorPod(staticPod: Pod): Promise<void>;
  /** Deletes the mirror with this full name, and with this uid unless undefined; false when there was none. */
  deleteMirrorPod(fullName: string, uid?: string): Promise<boolean>;
}

/** Whether the mirror was made from this version of the static pod. */
export function isMirrorPodOf(mirrorPod: Pod, pod: Pod): boolean {
  const hash = mirrorPod.metadata.annotations?.[CONFIG_MIRROR_ANNOTATION];
  return hash !== undefined && hash === mirrorHashOf(pod);
}

function mirrorHashOf(pod: Pod): string {
  return pod.metadata.annotations?.[CONFIG_HASH_ANNOTATION] ?? podUid(pod);
}

/** Without a Node object (`node` returns undefined) no mirror can be created. */
export function createMirrorClient(deps: {
  client: Client;
  log: Log;
  node: () => Node | undefined;
  nodeName: string;
}): MirrorClient {
  const pods = deps.client.resource(Pods);
  return {
    async createMirrorPod(staticPod) {
      const node = deps.node();
      if (node?.metadata.uid === undefined)
        throw new Error(`failed to get node UID: node "${deps.nodeName}" is not registered yet`);
      const hash = mirrorHashOf(staticPod);
      const { uid: _uid, resourceVersion: _version, ...metadata } = staticPod.metadata;
      const mirror: Pod = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: {
          ...metadata,
          annotations: { ...metadata.annotations, [CONFIG_MIRROR_ANNOTATION]: hash },
          ownerReferences: [
            { apiVersion: 'v1', kind: 'Node', name: deps.nodeName, uid: node.metadata.uid, controller: true },
          ],
        },
        ...(staticPod.spec === undefined ? {} : { spec: staticPod.spec }),
      };
      try {
        await pods.create(mirror);
      } catch (error) {
        if (!isReason(error, 'AlreadyExists')) throw error;
        const present = await pods.get({ namespace: metadata.namespace ?? 'default', name: metadata.name ?? '' });
        // With another hash, the next sync deletes the mirror and creates it again.
        if (present.metadata.annotations?.[CONFIG_MIRROR_ANNOTATION] !== hash) throw error;
      }
    },
    async deleteMirrorPod(fullName, uid) {
      const [name = '', namespace = ''] = fullName.split('_');
      deps.log.info('Deleting a mirror pod', {
        pod: `${namespace}/${name}`,
        podUID: uid,
      });
      try {
        await pods.delete(
          { namespace, name },
          { gracePeriodSeconds: 0, preconditions: uid === undefined ? undefined : { uid } },
        );
        return true;
      } catch (error) {
        if (isReason(error, 'NotFound', 'Conflict')) return false;
        throw error;
      }
    },
  };
}
