/** Finds the resource that a command's word means. Upstream: kubectl's RESTMapper with short names. */
import type { KubernetesObject } from '../api/object.ts';
import { groupResourceOf, type ResourceInfo } from '../api/resource-info.ts';

/**
 * The resource by its kind, singular, plural or short name, with its group behind a point where several have the name
 * (`widget.example.com`). Undefined when none is called so. The order of `resources` decides between groups.
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
