/** TaintToleration: untolerated NoSchedule and NoExecute taints filter, PreferNoSchedule ones score. Upstream: plugins/tainttoleration. */
import type { Node, Pod, Taint } from '../../../api/gen/core-v1.ts';
import { findUntoleratedTaint, taintText, tolerationsTolerateTaint } from '../../../api/taints-tolerations.ts';
import type { Stored } from '../../../api/object.ts';
import { deepEqual } from '../../../base/equal.ts';
import { normalizeToHundred } from '../../framework/profile.ts';
import type { SchedulerPlugin } from '../../framework/plugin.ts';
import { unresolvable } from '../../framework/status.ts';

const NAME = 'TaintToleration';
const SKIP = { code: 'skip', reasons: [], plugin: NAME } as const;
const UNTOLERATED = unresolvable(NAME, 'node(s) had untolerated taint(s)');

export function createTaintToleration(): SchedulerPlugin {
  const helps = (pod: Stored<Pod>, _old: unknown, node: unknown): boolean =>
    untolerated(pod, node as Stored<Node>) === undefined;
  return {
    name: NAME,
    nodeLocal: true,
    filter(_state, pod, info) {
      const taint = untolerated(pod, info.node);
      return taint === undefined ? undefined : UNTOLERATED;
    },
    explain(_state, pod, info) {
      const taint = untolerated(pod, info.node);
      if (taint === undefined) return [];
      return [{ what: `taint ${taintText(taint)}`, distance: 1 }];
    },
    /** Without such taints all nodes score alike. */
    preScore: (_state, _pod, { snapshot }) => (snapshot.preferNoScheduleNodes > 0 ? undefined : SKIP),
    score(_state, pod, info) {
      const { taints } = info.node.spec ?? {};
      if (taints === undefined || taints.length === 0) return 0;
      const tolerations = pod.spec?.tolerations ?? [];
      return taints.filter((t) => t.effect === 'PreferNoSchedule' && !tolerationsTolerateTaint(tolerations, t)).length;
    },
    normalize: (_state, _pod, scores) => normalizeToHundred(scores, true),
    events: [
      { event: 'node/add', hint: helps },
      { event: 'node/update-taint', hint: helps },
      {
        event: 'pod/update',
        hint: (pod, old) => !deepEqual((old as Stored<Pod> | undefined)?.spec?.tolerations, pod.spec?.tolerations),
      },
    ],
  };
}

function untolerated(pod: Stored<Pod>, node: Stored<Node>): Taint | undefined {
  const taints = node.spec?.taints;
  if (taints === undefined || taints.length === 0) return undefined;
  const tolerations = pod.spec?.tolerations ?? [];
  return findUntoleratedTaint(taints, tolerations, ({ effect }) => effect === 'NoSchedule' || effect === 'NoExecute');
}
