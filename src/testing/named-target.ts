/** Objects that a step of a scenario acts on, by names that may have a part that a controller has drawn. */
import type { KubernetesObject } from '../api/object.ts';
import type { Cluster } from './cluster.ts';
import type { ResolvedReference } from './references.ts';

/**
 * The object of `KIND/NAME`, there or not; of a name with `*`, the oldest that matches and is not being deleted. Throws when none
 * does.
 */
export function resolveTarget(cluster: Cluster, reference: string): ResolvedReference {
  const resolved = cluster.resolve(reference);
  if (!resolved.name.includes('*')) return resolved;
  const parts = resolved.name.split('*').map((part) => part.replaceAll(/[^\w-]/g, String.raw`\$&`));
  const pattern = new RegExp(`^${parts.join('.*')}$`);
  const [first] = cluster
    .peek(resolved.info)
    .map((object) => ({ object, ...identityOf(object) }))
    .filter(
      ({ object, name, namespace }) =>
        pattern.test(name) && namespace === resolved.namespace && object.metadata.deletionTimestamp === undefined,
    )
    .toSorted((a, b) => a.created.localeCompare(b.created) || a.name.localeCompare(b.name));
  if (first === undefined) throw new Error(`no ${reference} is there`);
  return { ...resolved, name: first.name };
}

/** Stored objects have all of these, but for a namespace that some kinds do not have. */
function identityOf({ metadata }: KubernetesObject): { name: string; namespace: string; created: string } {
  const { name = '', namespace = '', creationTimestamp: created = '' } = metadata;
  return { name, namespace, created };
}

/** The name by which a later run finds the like of an object: without what a controller has drawn. */
export function repeatableName({ kind, metadata }: KubernetesObject): string {
  const { name = '', generateName, ownerReferences = [] } = metadata;
  const owner = ownerReferences.find(({ controller }) => controller === true);
  if (owner === undefined || owner.kind === 'StatefulSet') return name;
  // A Job of a CronJob has the time in its name.
  const stem = generateName ?? (kind === 'Job' ? `${owner.name}-` : undefined);
  if (stem === undefined || !name.startsWith(stem)) return name;
  return `${stem}*`;
}
