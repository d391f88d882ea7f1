/**
 * NodeDeclaredFeatures: a pod that needs a kubelet feature runs only on nodes that declare it. Upstream:
 * plugins/nodedeclaredfeatures.
 */
import type { Node, Pod } from '../../../api/gen/core-v1.ts';
import type { Stored } from '../../../api/object.ts';
import { deepEqual } from '../../../base/equal.ts';
import { featuresToSchedule, undeclaredFeatures } from '../../../component-helpers/node-declared-features.ts';
import type { SchedulerPlugin } from '../../framework/plugin.ts';
import { unresolvable } from '../../framework/status.ts';

const NAME = 'NodeDeclaredFeatures';
const LACKING = unresolvable(NAME, "node(s) didn't match Pod's required features");
const SKIP = { code: 'skip', reasons: [], plugin: NAME } as const;

export function createNodeDeclaredFeatures(): SchedulerPlugin {
  const lackedBy = (pod: Stored<Pod>, node: Stored<Node>): readonly string[] =>
    undeclaredFeatures(featuresToSchedule(pod), node);
  const suits = (pod: Stored<Pod>, _old: unknown, node: unknown): boolean =>
    lackedBy(pod, node as Stored<Node>).length === 0;
  return {
    name: NAME,
    nodeLocal: true,
    preFilter: (_state, pod) => (featuresToSchedule(pod).length === 0 ? SKIP : undefined),
    filter: (_state, pod, info) => (lackedBy(pod, info.node).length === 0 ? undefined : LACKING),
    explain: (_state, pod, info) =>
      lackedBy(pod, info.node).map((name) => ({
        what: `the kubelet does not declare the feature ${name}`,
        distance: 1,
      })),
    events: [
      { event: 'node/add', hint: suits },
      { event: 'node/update-declared-feature', hint: suits },
      {
        event: 'pod/update',
        hint: (pod, old) =>
          old === undefined || !deepEqual(featuresToSchedule(old as Stored<Pod>), featuresToSchedule(pod)),
      },
    ],
  };
}
