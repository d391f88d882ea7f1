/** Views of pods that the kubelet of the pod's node serves. `state`: what the kubelet knows beyond the API objects. */
import { Pods } from '../api/gen/resources.ts';
import { badRequest, notFound, serviceUnavailable } from '../api/status-error.ts';
import type { ApiResponse } from '../api/transport.ts';
import { POD_STATE_ROUTE } from '../api/pod-node-state.ts';
import type { ObjectView } from './object-views.ts';
import { JSON_HEADERS } from './responses.ts';
import { readKubeletJson, type KubeletJsonDeps } from './streaming/kubelet-json.ts';

export function podStateView(deps: KubeletJsonDeps): ObjectView {
  return podNodeView(deps, { name: 'state', route: POD_STATE_ROUTE });
}

/** A view that forwards an object from a route of the kubelet; the object must have the pod's uid. */
export function podNodeView(
  deps: KubeletJsonDeps,
  { name: viewName, route }: { readonly name: string; readonly route: string },
): ObjectView {
  const kubeletRoute = { route, notFound: 'it does not know the pod' };
  return {
    name: viewName,
    async serve({ info, signal }, store): Promise<ApiResponse> {
      if (store.info !== Pods) throw badRequest(`only pods have this: ${viewName}`);
      const { namespace, name } = info;
      const pod = deps.objects.get(Pods, namespace, name);
      if (pod === undefined) throw notFound(Pods, name);
      const nodeName = pod.spec?.nodeName ?? '';
      if (nodeName === '') throw badRequest('the pod has no node yet');
      const place = { nodeName, namespace, name };
      const answer = await readKubeletJson<{ readonly uid: string }>(deps, kubeletRoute, place, signal);
      if (typeof answer === 'string') throw serviceUnavailable(`kubelet of ${nodeName}: ${answer}`);
      if (answer.uid !== pod.metadata.uid)
        throw serviceUnavailable(`kubelet of ${nodeName}: it knows another pod of this name`);
      return { kind: 'bytes', status: 200, headers: JSON_HEADERS, chunks: [Buffer.from(JSON.stringify(answer))] };
    },
  };
}
