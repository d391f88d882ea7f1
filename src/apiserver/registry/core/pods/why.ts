/** The `why` sub-resource of pods: where the pod stands with the scheduler. GET only, with `?nodes=N` of each decision; not in discovery, since upstream has no such thing. */
import { Pods } from '../../../../api/gen/resources.ts';
import { badRequest, notFound, serviceUnavailable } from '../../../../api/status-error.ts';
import { boundedPodWhy, type ExplainPod } from '../../../../component-helpers/pod-why.ts';
import type { ObjectStore } from '../../object-store.ts';
import type { ConnectSubresource } from '../../resource-definition.ts';

const USUAL_NODES = 100;
/** The answer is one text: this many nodes are written in a few milliseconds. */
const MAX_NODES = 1000;

/** Makes the sub-resource. `explain` is asked for at each call: schedulers come and go. */
export function podWhySubresource(objects: ObjectStore, explain: () => ExplainPod | undefined): ConnectSubresource {
  return {
    methods: ['GET'],
    async serve({ query }, { info }) {
      const most = nodesOf(new URLSearchParams(query));
      if (objects.get(Pods, info.namespace, info.name) === undefined) throw notFound(Pods, info.name);
      const explainPod = explain();
      if (explainPod === undefined) throw serviceUnavailable('no scheduler runs in the process of this API server');
      const why = await explainPod(info.namespace, info.name);
      if (why === undefined) throw serviceUnavailable('the scheduler has not seen the pod yet');
      return {
        kind: 'bytes',
        status: 200,
        headers: { 'content-type': 'application/json' },
        chunks: [Buffer.from(JSON.stringify(boundedPodWhy(why, most)))],
      };
    },
  };
}

/** How many nodes of a decision the answer has. Throws 400. */
function nodesOf(params: URLSearchParams): number {
  const text = params.get('nodes');
  if (text === null) return USUAL_NODES;
  if (!/^\d{1,9}$/.test(text)) throw badRequest(`nodes: ${JSON.stringify(text)} is no whole number`);
  return Math.min(Number(text), MAX_NODES);
}
