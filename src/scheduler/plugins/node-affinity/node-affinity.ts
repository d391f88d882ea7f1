/** NodeAffinity: node selector and required affinity filter, preferred terms score. Upstream: plugins/nodeaffinity. */
import type { Node, Pod } from '../../../api/gen/core-v1.ts';
import type { Stored } from '../../../api/object.ts';
import {
  nodeSelectorMatches,
  preferredNodeAffinityWeight,
  selectorLacks,
} from '../../../component-helpers/node-affinity.ts';
import { defaultArgs, type NodeAffinityArgs } from '../../config/plugin-args.ts';
import { normalizeToHundred } from '../../framework/profile.ts';
import type { SchedulerPlugin } from '../../framework/plugin.ts';
import { unresolvable } from '../../framework/status.ts';

const NAME = 'NodeAffinity';
const MISMATCH = unresolvable(NAME, "node(s) didn't match Pod's node affinity/selector");
const ENFORCED = unresolvable(NAME, "node(s) didn't match scheduler-enforced node affinity");
const SKIP = { code: 'skip', reasons: [], plugin: NAME } as const;

export function createNodeAffinity({ addedAffinity }: NodeAffinityArgs = defaultArgs.nodeAffinity): SchedulerPlugin {
  const enforced = addedAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const added =
    addedAffinity === undefined
      ? undefined
      : ({ metadata: {}, spec: { containers: [], affinity: { nodeAffinity: addedAffinity } } } as Pod);
  const suits = (pod: Stored<Pod>, node: Stored<Node>): boolean =>
    (added === undefined || nodeSelectorMatches(added, node)) && nodeSelectorMatches(pod, node);
  return {
    name: NAME,
    nodeLocal: true,
    preFilter(_state, pod) {
      const required = pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
      if (required === undefined && enforced === undefined && Object.keys(pod.spec?.nodeSelector ?? {}).length === 0)
        return SKIP;
      // When every term names nodes by field (DaemonSet pods), only those nodes can be feasible.
      const names = required?.nodeSelectorTerms.map(
        (t) => t.matchFields?.find((f) => f.key === 'metadata.name' && f.operator === 'In')?.values,
      );
      if (names === undefined || names.some((n) => n === undefined)) return undefined;
      return { nodeNames: new Set(names.flatMap((n) => n ?? [])) };
    },
    filter(_state, pod, info) {
      if (added !== undefined && !nodeSelectorMatches(added, info.node)) return ENFORCED;
      return nodeSelectorMatches(pod, info.node) ? undefined : MISMATCH;
    },
    explain: (_state, pod, { node }) => selectorLacks(pod, node).map((what) => ({ what, distance: 1 })),
    preScore: (_state, pod) =>
      (pod.spec?.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).length === 0 &&
      (addedAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).length === 0
        ? SKIP
        : undefined,
    score: (_state, pod, info) =>
      preferredNodeAffinityWeight(pod, info.node) +
      (added === undefined ? 0 : preferredNodeAffinityWeight(added, info.node)),
    normalize: (_state, _pod, scores) => normalizeToHundred(scores, false),
    // A pod without scheduling gates cannot change its node affinity.
    events: [
      { event: 'node/add', hint: (pod, _old, node) => suits(pod, node as Stored<Node>) },
      {
        event: 'node/update-label',
        hint: (pod, old, node) => suits(pod, node as Stored<Node>) && !suits(pod, old as Stored<Node>),
      },
    ],
  };
}
