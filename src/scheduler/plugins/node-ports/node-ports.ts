/** NodePorts: the host ports of the pod must be free on the node. Upstream: plugins/nodeports. */
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { Stored } from '../../../api/object.ts';
import { anyHostPortsCollide, hostPortsCollide, hostPortsOf } from '../../../component-helpers/host-ports.ts';
import { podText, MAX_LISTED } from '../../framework/lack-texts.ts';
import type { SchedulerPlugin } from '../../framework/plugin.ts';
import { unschedulable } from '../../framework/status.ts';

const NAME = 'NodePorts';

export function createNodePorts(): SchedulerPlugin {
  return {
    name: NAME,
    nodeLocal: true,
    preFilter: (_state, pod) =>
      hostPortsOf(pod).length === 0 ? { code: 'skip', reasons: [], plugin: NAME } : undefined,
    filter(_state, pod, info) {
      return anyHostPortsCollide(hostPortsOf(pod), info.usedPorts)
        ? unschedulable(NAME, "node(s) didn't have free ports for the requested pod ports")
        : undefined;
    },
    explain(_state, pod, info) {
      const wanted = hostPortsOf(pod);
      return info.pods
        .values()
        .flatMap((other) => {
          const held = hostPortsOf(other).filter((port) => wanted.some((own) => hostPortsCollide(own, port)));
          return held.map(({ port, protocol }) => ({
            what: `host port ${port}/${protocol} is held by pod ${podText(other)}`,
            distance: 1,
          }));
        })
        .take(MAX_LISTED)
        .toArray();
    },
    events: [
      { event: 'assigned-pod/delete', hint: (pod, gone) => collide(pod, gone as Stored<Pod>) },
      { event: 'node/add' },
    ],
  };
}

/** Whether the pods use a common host port. */
function collide(pod: Stored<Pod>, other: Stored<Pod>): boolean {
  return anyHostPortsCollide(hostPortsOf(pod), hostPortsOf(other));
}
