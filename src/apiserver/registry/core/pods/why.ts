/**
 * The `why` sub-resource of pods: the scheduler's answer for the pod. GET only, with `?nodes=N` nodes per decision;
 * not in discovery, since upstream has no such sub-resource.
 */
import { Pods } from '../../../../api/gen/resources.ts';
import { badRequest, notFound, serviceUnavailable } from '../../../../api/status-error.ts';
import { boundedPodWhy, type ExplainPod } from '../../../../component-helpers/pod-why.ts';
import type { ObjectStore } from '../../object-store.ts';
import type { ConnectSubresource } from '../../resource-definition.ts';

const USUAL_NODES = 100;
/** The most nodes in an answer: it is one text, written in a few milliseconds. */
const MAX_NODES = 1000;

/** `explain` is looked up at each call, since schedulers start and stop. */
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

/** The number of nodes per decision. Throws 400. */
function nodesOf(params: URLSearchParams): number {
  const text = params.get('nodes');
  if (text === null) return USUAL_NODES;
  if (!/^\d{1,9}$/.test(text)) throw badRequest(`nodes: ${JSON.stringify(text)} is no whole number`);
  return Math.min(Number(text), MAX_NODES);
}
