/**
 * ServiceAffinity: pods of one service run on nodes with equal values of some labels (CheckServiceAffinity), or are
 * spread over the values of a label (service anti-affinity, 0 to 10). Upstream: plugins/serviceaffinity, removed in
 * v1.23.
 */
import type { Pod, Service } from '../../../api/gen/core-v1.ts';
import type { Stored } from '../../../api/object.ts';
import type { NodeInfo, Snapshot } from '../../cache/node-info.ts';
import type { SchedulerPlugin } from '../../framework/plugin.ts';
import { unschedulable } from '../../framework/status.ts';

const NAME = 'ServiceAffinity';
const SCORES = `${NAME}/scores`;
const REFUSED = unschedulable(NAME, "node(s) didn't match service affinity");

/** Node label keys. */
export interface ServiceAffinityArgs {
  readonly affinityLabels: readonly string[];
  readonly antiAffinityLabelsPreference: readonly string[];
}

/** Services that select the pod. */
export type ServicesOf = (pod: Stored<Pod>) => readonly Service[];

interface Spread {
  readonly total: number;
  /** Counts by label key, then by value. */
  readonly counts: readonly (readonly [string, ReadonlyMap<string, number>])[];
}

export function createServiceAffinity(args: ServiceAffinityArgs, servicesOf: ServicesOf): SchedulerPlugin {
  return {
    name: NAME,
    preFilter(state, pod, snapshot) {
      if (args.affinityLabels.length === 0) return { code: 'skip', reasons: [], plugin: NAME };
      state.set(NAME, wantedLabels(args.affinityLabels, pod, { snapshot, servicesOf }));
      return undefined;
    },
    filter(state, _pod, { node }) {
      const labels = node.metadata.labels ?? {};
      for (const [key, value] of state.get(NAME) as ReadonlyMap<string, string>)
        if (labels[key] !== value) return REFUSED;
      return undefined;
    },
    explain(state, pod, { node }) {
      const labels = node.metadata.labels ?? {};
      const service = servicesOf(pod)[0]?.metadata.name ?? '';
      return [...(state.get(NAME) as ReadonlyMap<string, string>)]
        .filter(([key, value]) => labels[key] !== value)
        .map(([key, value]) => ({
          what: `label ${key} is ${labels[key] ?? 'not set'}, not ${value}, where the pods of service ${service} run`,
          distance: 1,
        }));
    },
    preScore(state, pod, { snapshot }) {
      if (args.antiAffinityLabelsPreference.length === 0) return { code: 'skip', reasons: [], plugin: NAME };
      state.set(SCORES, countSiblings(args.antiAffinityLabelsPreference, pod, { snapshot, servicesOf }));
      return undefined;
    },
    score(state, _pod, { node }) {
      const { total, counts } = state.get(SCORES) as Spread;
      let score = 0;
      for (const [key, values] of counts) {
        const value = node.metadata.labels?.[key];
        if (value === undefined) continue;
        score += total === 0 ? 10 : (10 * (total - (values.get(value) ?? 0))) / total;
      }
      return Math.floor(score / counts.length);
    },
    events: [
      { event: 'assigned-pod/add' },
      { event: 'assigned-pod/delete' },
      { event: 'node/add' },
      { event: 'node/update-label' },
    ],
  };
}

/**
 * The label values that the pod's node must have: from its node selector, and for other keys from the node of another
 * pod of its first service.
 */
function wantedLabels(
  keys: readonly string[],
  pod: Stored<Pod>,
  { snapshot, servicesOf }: { snapshot: Snapshot; servicesOf: ServicesOf },
): ReadonlyMap<string, string> {
  const wanted = new Map<string, string>();
  for (const key of keys) {
    const value = pod.spec?.nodeSelector?.[key];
    if (value !== undefined) wanted.set(key, value);
  }
  if (wanted.size === keys.length) return wanted;
  const other = firstSiblingsNode(pod, snapshot, servicesOf);
  for (const key of keys) {
    const value = other?.node.metadata.labels?.[key];
    if (value !== undefined && !wanted.has(key)) wanted.set(key, value);
  }
  return wanted;
}

function siblingTest(pod: Stored<Pod>, servicesOf: ServicesOf): ((other: Stored<Pod>) => boolean) | undefined {
  const selector = servicesOf(pod)[0]?.spec?.selector;
  if (selector === undefined) return undefined;
  const wanted = Object.entries(selector);
  return (other) =>
    other.metadata.namespace === pod.metadata.namespace &&
    wanted.every(([key, value]) => other.metadata.labels?.[key] === value);
}

function firstSiblingsNode(pod: Stored<Pod>, snapshot: Snapshot, servicesOf: ServicesOf): NodeInfo | undefined {
  const isSibling = siblingTest(pod, servicesOf);
  if (isSibling === undefined) return undefined;
  return snapshot.nodes.find((node) => node.pods.values().some(isSibling));
}

function countSiblings(
  keys: readonly string[],
  pod: Stored<Pod>,
  { snapshot, servicesOf }: { snapshot: Snapshot; servicesOf: ServicesOf },
): Spread {
  const isSibling = siblingTest(pod, servicesOf);
  const counts = keys.map((key) => [key, new Map<string, number>()] as const);
  let total = 0;
  if (isSibling === undefined) return { total, counts };
  for (const node of snapshot.nodes) {
    const here = node.pods.values().filter(isSibling).toArray().length;
    total += here;
    for (const [key, values] of counts) {
      const value = node.node.metadata.labels?.[key];
      if (value !== undefined && here > 0) values.set(value, (values.get(value) ?? 0) + here);
    }
  }
  return { total, counts };
}
