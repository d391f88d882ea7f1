/**
 * SelectorSpread: prefers nodes, and zones, with fewer pods of the same services and owners. Scores 0 to 10. With
 * services alone and without zones it is the early releases' ServiceSpreadingPriority. Upstream:
 * plugins/selectorspread, removed in v1.29.
 */
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { Stored } from '../../../api/object.ts';
import type { NodeInfo } from '../../cache/node-info.ts';
import { createNodeCounts } from '../../framework/node-counts.ts';
import type { SiblingSelector } from '../../framework/plugin-deps.ts';
import type { CycleState, SchedulerPlugin } from '../../framework/plugin.ts';
import { largest } from '../../../base/lists.ts';

const ZONE = 'topology.kubernetes.io/zone';
/** The zone's share of the score; the node's is the rest. */
const ZONE_WEIGHT = 2 / 3;

interface PreScoreState {
  readonly count: (node: NodeInfo) => number;
  readonly most: number;
  readonly zones: ReadonlyMap<string, number>;
  readonly mostInZone: number;
}

export interface SelectorSpreadOptions {
  readonly name: 'SelectorSpread' | 'ServiceSpreadingPriority';
  readonly siblings: SiblingSelector;
  readonly zones: boolean;
}

export function createSelectorSpread({ name, siblings, zones }: SelectorSpreadOptions): SchedulerPlugin {
  const counts = createNodeCounts();
  return {
    name,
    preScore(state, pod, { nodes }) {
      const selector = siblings(pod);
      const { namespace } = pod.metadata;
      const count =
        selector === undefined
          ? () => 0
          : counts.of(`${namespace}|${selector}`, (other) => isSibling(other, namespace, selector));
      state.set(name, countNodes(nodes, count, zones));
      return undefined;
    },
    score: (state: CycleState, _pod, node) => scoreOf(state.get(name) as PreScoreState, node),
  };
}

function isSibling(
  other: Stored<Pod>,
  namespace: string | undefined,
  selector: NonNullable<ReturnType<SiblingSelector>>,
): boolean {
  return (
    other.metadata.namespace === namespace &&
    other.metadata.deletionTimestamp === undefined &&
    selector.matches(other.metadata.labels)
  );
}

function countNodes(nodes: readonly NodeInfo[], count: (node: NodeInfo) => number, withZones: boolean): PreScoreState {
  const zones = new Map<string, number>();
  let most = 0;
  for (const node of nodes) {
    const here = count(node);
    most = Math.max(most, here);
    const zone = node.node.metadata.labels?.[ZONE];
    if (withZones && zone !== undefined) zones.set(zone, (zones.get(zone) ?? 0) + here);
  }
  return { count, most, zones, mostInZone: largest(zones.values(), 0) };
}

function scoreOf({ count, most, zones, mostInZone }: PreScoreState, node: NodeInfo): number {
  const ofNode = most === 0 ? 10 : (10 * (most - count(node))) / most;
  const zone = node.node.metadata.labels?.[ZONE];
  const inZone = zone === undefined ? undefined : zones.get(zone);
  if (inZone === undefined) return Math.floor(ofNode);
  const ofZone = mostInZone === 0 ? 10 : (10 * (mostInZone - inZone)) / mostInZone;
  return Math.floor(ofNode * (1 - ZONE_WEIGHT) + ofZone * ZONE_WEIGHT);
}
