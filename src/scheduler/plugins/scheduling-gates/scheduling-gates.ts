/**
 * SchedulingGates: a pod stays out of the active queue until all its gates are removed. Upstream:
 * plugins/schedulinggates.
 */
import type { SchedulerPlugin } from '../../framework/plugin.ts';

export function createSchedulingGates(): SchedulerPlugin {
  return {
    name: 'SchedulingGates',
    preEnqueue(pod) {
      const gates = (pod.spec?.schedulingGates ?? []).map((g) => g.name);
      if (gates.length === 0) return undefined;
      return {
        code: 'unresolvable',
        plugin: 'SchedulingGates',
        reasons: [`waiting for scheduling gates: [${gates.join(' ')}]`],
      };
    },
    events: [{ event: 'pod/update' }],
  };
}
