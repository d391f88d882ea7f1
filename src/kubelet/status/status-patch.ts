/**
 * The strategic merge patch from one pod status to another: only changes, with the uid as a precondition, so that
 * other writers' fields and conditions are kept. Pure. Upstream: pkg/util/pod PatchPodStatus.
 */
import { firstBy } from '../../base/first-by.ts';
import { deepEqual } from '../../base/equal.ts';
import type { Pod, PodStatus } from '../../api/gen/core-v1.ts';

/** Lists of a pod status that merge by a key; all others are replaced whole. */
const POD_MERGE_KEYS: MergeKeys = { conditions: 'type', podIPs: 'ip', hostIPs: 'ip', resourceClaimStatuses: 'name' };

type Fields = Record<string, unknown>;
type MergeKeys = Readonly<Record<string, string>>;

function diffKeyed(before: readonly Fields[], after: readonly Fields[], key: string): Fields[] {
  const changes: Fields[] = [];
  const byKey = firstBy(before, (item) => item[key]);
  for (const item of after) {
    const old = byKey.get(item[key]);
    if (old === undefined) changes.push(item);
    else if (!deepEqual(old, item)) changes.push({ ...strategicDiff(old, item, {}), [key]: item[key] });
  }
  const keys = new Set(after.map((item) => item[key]));
  for (const item of before) {
    if (!keys.has(item[key])) changes.push({ $patch: 'delete', [key]: item[key] });
  }
  return changes;
}

/** The strategic merge patch from one plain object to the other; `mergeKeys` names the lists that merge. Empty when equal. */
export function strategicDiff(before: Fields, after: Fields, mergeKeys: MergeKeys): Fields {
  const patch: Fields = {};
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const old = before[name];
    const value = after[name];
    if (deepEqual(old, value)) continue;
    const key = mergeKeys[name];
    if (value === undefined) patch[name] = null;
    else if (key === undefined || !Array.isArray(value)) patch[name] = value;
    else {
      const items = value as Fields[];
      patch[`$setElementOrder/${name}`] = items.map((item) => ({ [key]: item[key] }));
      const changes = diffKeyed((old as Fields[] | undefined) ?? [], items, key);
      if (changes.length > 0) patch[name] = changes;
    }
  }
  return patch;
}

/** The patch, or undefined when nothing changed. */
export function podStatusPatch(pod: Pod, status: PodStatus): object | undefined {
  const changes = strategicDiff((pod.status ?? {}) as Fields, status as Fields, POD_MERGE_KEYS);
  if (Object.keys(changes).length === 0) return undefined;
  return { metadata: { uid: pod.metadata.uid }, status: changes };
}
