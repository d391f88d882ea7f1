/**
 * The Filter point on one node, with and without its nominated pods. Upstream: RunFilterPlugins,
 * RunFilterPluginsWithNominatedPods.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { NodeInfo } from '../cache/node-info.ts';
import type { CycleState, Nominations, SchedulerPlugin } from './plugin.ts';
import { pluginTimerOf } from './plugin-timer.ts';
import type { Status } from './status.ts';

/** Runs the Filter point on one node and returns the first rejection. */
export function runFilters(
  filters: readonly SchedulerPlugin[],
  state: CycleState,
  input: { pod: Stored<Pod>; node: NodeInfo },
): Status | undefined {
  const timer = pluginTimerOf(state);
  for (const plugin of filters) {
    const startedMs = timer?.started() ?? 0;
    const status = plugin.filter?.(state, input.pod, input.node);
    timer?.ended({ plugin: plugin.name, point: 'Filter', startedMs, status });
    if (status !== undefined) return status;
  }
  return undefined;
}

/** A copy of the state for hypothetical pods. */
export function cloneState(filters: readonly SchedulerPlugin[], state: CycleState): CycleState {
  const copy = new Map(state);
  for (const plugin of filters) {
    const pluginState = state.get(plugin.name);
    if (pluginState !== undefined && plugin.cloneState !== undefined)
      copy.set(plugin.name, plugin.cloneState(pluginState));
  }
  return copy;
}

/** Adds a pod to a copied node, or removes it, and updates the state of all plugins. */
export function supposePod(
  filters: readonly SchedulerPlugin[],
  state: CycleState,
  change: { pod: Stored<Pod>; other: Stored<Pod>; node: NodeInfo; present: boolean },
): void {
  const { pod, other, node, present } = change;
  if (present) node.addPod(other);
  else node.removePod(other.metadata.uid);
  for (const plugin of filters) {
    if (present) plugin.addPod?.(state, pod, { other, node });
    else plugin.removePod?.(state, pod, { other, node });
  }
}

/**
 * Filters a node that pods of higher or equal priority are nominated to. The pod must fit with them, and also without
 * them, since they may not come and affinity may depend on them.
 */
export function runFiltersWithNominated(
  filters: readonly SchedulerPlugin[],
  state: CycleState,
  input: { pod: Stored<Pod>; node: NodeInfo; nominations: Nominations },
): Status | undefined {
  const { pod, node, nominations } = input;
  const priority = pod.spec?.priority ?? 0;
  const expected = nominations
    .on(node.name)
    .filter(
      (other) =>
        other.metadata.uid !== pod.metadata.uid &&
        (other.spec?.priority ?? 0) >= priority &&
        !node.pods.has(other.metadata.uid),
    );
  if (expected.length > 0) {
    const supposed = cloneState(filters, state);
    const copy = node.clone();
    for (const other of expected) supposePod(filters, supposed, { pod, other, node: copy, present: true });
    const status = runFilters(filters, supposed, { pod, node: copy });
    if (status !== undefined) return status;
  }
  return runFilters(filters, state, { pod, node });
}
