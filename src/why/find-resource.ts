/** Finds the resource that an argument of a command names. Upstream: kubectl's RESTMapper with short names. */
import type { KubernetesObject } from '../api/object.ts';
import { groupResourceOf, type ResourceInfo } from '../api/resource-info.ts';

/**
 * The resource with this kind, singular, plural or short name, optionally followed by a dot and its group (`widget.example.com`).
 * Undefined for an unknown name. Of several groups the first in `resources` is chosen.
 */
export function findResource(
  word: string,
  resources: readonly ResourceInfo<KubernetesObject>[],
): ResourceInfo<KubernetesObject> | undefined {
  const wanted = word.toLowerCase();
  const byNames = resources.filter((info) =>
    [info.kind.toLowerCase(), info.singular, info.resource, ...info.shortNames].includes(wanted),
  );
  return (
    byNames.find(({ group }) => group === '') ??
    byNames[0] ??
    resources.find((info) => groupResourceOf(info) === wanted || `${info.singular}.${info.group}` === wanted)
  );
}
