/**
 * NodeLabel: nodes must, or should, have some label keys and lack others, whatever their values
 * (CheckNodeLabelPresence, CalculateNodeLabelPriority). Scores 0 to 10. Upstream: plugins/nodelabel, removed in
 * v1.23.
 */
import type { SchedulerPlugin } from '../../framework/plugin.ts';
import { unresolvable } from '../../framework/status.ts';

const NAME = 'NodeLabel';
const REFUSED = unresolvable(NAME, "node(s) didn't have the requested labels");

/** Label keys. */
export interface NodeLabelArgs {
  readonly presentLabels: readonly string[];
  readonly absentLabels: readonly string[];
  readonly presentLabelsPreference: readonly string[];
  readonly absentLabelsPreference: readonly string[];
}

export function createNodeLabel(args: NodeLabelArgs): SchedulerPlugin {
  const preferences = args.presentLabelsPreference.length + args.absentLabelsPreference.length;
  return {
    name: NAME,
    filter(_state, _pod, { node }) {
      const labels = node.metadata.labels ?? {};
      const has = (key: string): boolean => Object.hasOwn(labels, key);
      return args.presentLabels.every(has) && !args.absentLabels.some(has) ? undefined : REFUSED;
    },
    score(_state, _pod, { node }) {
      if (preferences === 0) return 0;
      const labels = node.metadata.labels ?? {};
      const has = (key: string): boolean => Object.hasOwn(labels, key);
      const met =
        args.presentLabelsPreference.filter(has).length + args.absentLabelsPreference.filter((key) => !has(key)).length;
      return Math.floor((met * 10) / preferences);
    },
    events: [{ event: 'node/add' }, { event: 'node/update-label' }],
  };
}
