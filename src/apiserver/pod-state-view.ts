/** The view `state` of pods: what the kubelet of the pod's node knows and no object tells. */
import { Pods } from '../api/gen/resources.ts';
import { badRequest, notFound, serviceUnavailable } from '../api/status-error.ts';
import type { ApiResponse } from '../api/transport.ts';
import { POD_STATE_ROUTE, type PodNodeState } from '../component-helpers/pod-node-state.ts';
import type { ObjectView } from './object-views.ts';
import { JSON_HEADERS } from './responses.ts';
import { readKubeletJson, type KubeletJsonDeps } from './streaming/kubelet-json.ts';

const STATE = { route: POD_STATE_ROUTE, notFound: 'it does not know the pod' };

export function podStateView(deps: KubeletJsonDeps): ObjectView {
  return {
    name: 'state',
    async serve({ info, signal }, store): Promise<ApiResponse> {
      if (store.info !== Pods) throw badRequest('only pods have a state on a node');
      const { namespace, name } = info;
      const pod = deps.objects.get(Pods, namespace, name);
      if (pod === undefined) throw notFound(Pods, name);
      const nodeName = pod.spec?.nodeName ?? '';
      if (nodeName === '') throw badRequest('the pod has no node yet');
      const state = await readKubeletJson<PodNodeState>(deps, STATE, { nodeName, namespace, name }, signal);
      if (typeof state === 'string') throw serviceUnavailable(`kubelet of ${nodeName}: ${state}`);
      if (state.uid !== pod.metadata.uid)
        throw serviceUnavailable(`kubelet of ${nodeName}: it knows another pod of this name`);
      return { kind: 'bytes', status: 200, headers: JSON_HEADERS, chunks: [Buffer.from(JSON.stringify(state))] };
    },
  };
}
