/**
 * Which pods to replace in this step of a rolling update. Pure. Upstream: daemon/update.go rollingUpdate. Differs on
 * purpose: nodes whose old pod is unavailable count as unavailable before healthy pods are taken.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import { isPodAvailable } from '../../component-helpers/pods.ts';
import { isUpdated, rollingLimits, shouldRun } from './daemon-sets.ts';
import type { DaemonView } from './plan.ts';

/** One step. */
export interface RollingStep {
  readonly create: readonly string[];
  readonly remove: readonly Pod[];
}

interface NodePods {
  readonly newPod?: Pod;
  readonly oldPod?: Pod;
}

/** The next step; empty while what is under way must settle first. */
export function planRollingUpdate(view: DaemonView): RollingStep {
  const wanting = view.nodes.filter((node) => shouldRun(view.set, node).run).map((node) => node.metadata.name ?? '');
  const limits = rollingLimits(view.set, wanting.length);
  const names = new Set([...view.pods.keys(), ...wanting]);
  return limits.maxSurge === 0 ? replace(view, names, limits.maxUnavailable) : surge(view, names, limits.maxSurge);
}

/** The node's new and old pod; undefined when there are several of one sort, which the main plan settles first. */
function podsOn(view: DaemonView, nodeName: string): NodePods | undefined {
  const alive = (view.pods.get(nodeName) ?? []).filter((pod) => pod.metadata.deletionTimestamp === undefined);
  const newPods = alive.filter((pod) => isUpdated(view.set, pod, view.hash));
  const oldPods = alive.filter((pod) => !isUpdated(view.set, pod, view.hash));
  if (newPods.length > 1 || oldPods.length > 1) return undefined;
  const [newPod] = newPods;
  const [oldPod] = oldPods;
  return { ...(newPod === undefined ? {} : { newPod }), ...(oldPod === undefined ? {} : { oldPod }) };
}

function replace(view: DaemonView, names: Iterable<string>, maxUnavailable: number): RollingStep {
  const available = (pod: Pod): boolean => isPodAvailable(pod, view.set.spec?.minReadySeconds ?? 0, view.nowMs);
  const broken: Pod[] = [];
  const candidates: Pod[] = [];
  let unavailable = 0;
  for (const name of names) {
    const pods = podsOn(view, name);
    const only = pods?.newPod === undefined ? pods?.oldPod : pods.oldPod === undefined ? pods.newPod : undefined;
    if (only === undefined || !available(only)) unavailable++;
    if (only === undefined || only === pods?.newPod) continue;
    (available(only) ? candidates : broken).push(only);
  }
  return { create: [], remove: [...broken, ...candidates.slice(0, Math.max(0, maxUnavailable - unavailable))] };
}

function surge(view: DaemonView, names: Iterable<string>, maxSurge: number): RollingStep {
  const available = (pod: Pod): boolean => isPodAvailable(pod, view.set.spec?.minReadySeconds ?? 0, view.nowMs);
  const nodes = new Map(view.nodes.map((node) => [node.metadata.name ?? '', node]));
  const remove: Pod[] = [];
  const urgent: string[] = [];
  const candidates: string[] = [];
  let surging = 0;
  for (const name of names) {
    const pods = podsOn(view, name);
    if (pods === undefined) surging++;
    if (pods?.oldPod === undefined) continue;
    if (pods.newPod !== undefined) {
      if (available(pods.newPod)) remove.push(pods.oldPod);
      else surging++;
      continue;
    }
    const node = nodes.get(name);
    const mayRun = node !== undefined && shouldRun(view.set, node).run;
    // Where the new template may not run there is nothing to surge with: an unavailable old pod just goes.
    if (mayRun) (available(pods.oldPod) ? candidates : urgent).push(name);
    else if (!available(pods.oldPod)) remove.push(pods.oldPod);
  }
  return { create: [...urgent, ...candidates.slice(0, Math.max(0, maxSurge - surging))], remove };
}
