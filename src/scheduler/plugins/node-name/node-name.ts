/** NodeName: a pod with spec.nodeName fits only on that node. Upstream: plugins/nodename. */
import type { SchedulerPlugin } from '../../framework/plugin.ts';
import { unresolvable } from '../../framework/status.ts';

export function createNodeName(): SchedulerPlugin {
  return {
    name: 'NodeName',
    nodeLocal: true,
    preFilter: (_state, pod) =>
      (pod.spec?.nodeName ?? '') === '' ? { code: 'skip', reasons: [], plugin: 'NodeName' } : undefined,
    filter(_state, pod, info) {
      const wanted = pod.spec?.nodeName ?? '';
      return wanted === '' || wanted === info.name
        ? undefined
        : unresolvable('NodeName', "node(s) didn't match the requested node name");
    },
    events: [{ event: 'node/add' }],
  };
}
