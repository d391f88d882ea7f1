/** The state that the kubelet of a pod's node reports through a Keelson API server. */
import { Pods } from '../../api/gen/resources.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { PodNodeState } from '../../api/pod-node-state.ts';
import type { Evidence } from '../evidence.ts';

/** Undefined on other clusters, before the pod has a node, and when the kubelet does not respond. */
export async function nodeStateOf(pod: Pod, evidence: Evidence): Promise<PodNodeState | undefined> {
  const { namespace = '', name = '', uid } = pod.metadata;
  if ((pod.spec?.nodeName ?? '') === '') return undefined;
  const state = await evidence.view<PodNodeState>('state', Pods, { namespace, name });
  return state?.uid === uid ? state : undefined;
}
