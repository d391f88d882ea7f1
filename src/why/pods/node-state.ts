/** What the kubelet of a pod's node knows, where an API server of Keelson hands it out. */
import { Pods } from '../../api/gen/resources.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { PodNodeState } from '../../api/pod-node-state.ts';
import type { Evidence } from '../evidence.ts';

/** Undefined on clusters of others, before the pod has a node, and where the kubelet does not answer. */
export async function nodeStateOf(pod: Pod, evidence: Evidence): Promise<PodNodeState | undefined> {
  const { namespace = '', name = '', uid } = pod.metadata;
  if ((pod.spec?.nodeName ?? '') === '') return undefined;
  const state = await evidence.view<PodNodeState>('state', Pods, { namespace, name });
  return state?.uid === uid ? state : undefined;
}
