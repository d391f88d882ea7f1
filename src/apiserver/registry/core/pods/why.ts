/** The `why` sub-resource of pods: where the pod stands with the scheduler. GET only; not in discovery, since upstream has no such thing. */
import { Pods } from '../../../../api/gen/resources.ts';
import { notFound, serviceUnavailable } from '../../../../api/status-error.ts';
import type { ExplainPod } from '../../../../component-helpers/pod-why.ts';
import type { ObjectStore } from '../../object-store.ts';
import type { ConnectSubresource } from '../../resource-definition.ts';

/** Makes the sub-resource. `explain` is asked for at each call: schedulers come and go. */
export function podWhySubresource(objects: ObjectStore, explain: () => ExplainPod | undefined): ConnectSubresource {
  return {
    methods: ['GET'],
    async serve(_request, { info }) {
      if (objects.get(Pods, info.namespace, info.name) === undefined) throw notFound(Pods, info.name);
      const explainPod = explain();
      if (explainPod === undefined) throw serviceUnavailable('no scheduler runs in the process of this API server');
      const why = await explainPod(info.namespace, info.name);
      if (why === undefined) throw serviceUnavailable('the scheduler has not seen the pod yet');
      return {
        kind: 'bytes',
        status: 200,
        headers: { 'content-type': 'application/json' },
        chunks: [Buffer.from(JSON.stringify(why))],
      };
    },
  };
}
