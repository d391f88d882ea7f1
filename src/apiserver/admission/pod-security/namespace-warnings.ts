/** Warnings about existing pods that a stricter level would refuse. Upstream: EvaluatePodsInNamespace. */
import type { Stored } from '../../../api/object.ts';
import type { Pod } from '../../../api/gen/core-v1.ts';
import { reasonsText, violationsOf } from './evaluate.ts';
import { type LevelVersion, levelText } from './policy.ts';

const MAX_PODS = 3000;

/** The pods with one per controller first, since the others mostly repeat it. */
function prioritized(pods: readonly Stored<Pod>[]): Pod[] {
  const seen = new Set<string>();
  const repeated: Pod[] = [];
  const first = pods.filter((pod) => {
    const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid;
    if (owner === undefined || !seen.has(owner)) {
      if (owner !== undefined) seen.add(owner);
      return true;
    }
    repeated.push(pod);
    return false;
  });
  return [...first, ...repeated];
}

/** Warnings with upstream's texts; one per combination of violated rules. */
export function existingPodsWarnings(namespace: string, pods: readonly Stored<Pod>[], enforce: LevelVersion): string[] {
  const broken = new Map<string, { name: string; count: number }>();
  const checked = prioritized(pods).slice(0, MAX_PODS);
  for (const { metadata, spec } of checked) {
    const reasons = spec === undefined ? '' : reasonsText(violationsOf(metadata, spec, enforce));
    if (reasons === '') continue;
    const name = metadata.name ?? '';
    const known = broken.get(reasons);
    if (known === undefined) broken.set(reasons, { name, count: 1 });
    else broken.set(reasons, { name: name < known.name ? name : known.name, count: known.count + 1 });
  }
  const warnings: string[] = [];
  if (checked.length < pods.length)
    warnings.push(
      `new PodSecurity enforce level only checked against the first ${checked.length} of ${pods.length} existing pods`,
    );
  if (broken.size > 0)
    warnings.push(
      `existing pods in namespace ${JSON.stringify(namespace)} violate the new PodSecurity enforce level ${JSON.stringify(levelText(enforce))}`,
    );
  const lines = [...broken].map(([reasons, { name, count }]) => {
    const others = count === 1 ? '' : count === 2 ? ' (and 1 other pod)' : ` (and ${count - 1} other pods)`;
    return `${name}${others}: ${reasons}`;
  });
  return [...warnings, ...lines.toSorted()];
}
