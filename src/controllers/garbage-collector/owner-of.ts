/**
 * Finds the reference of an object to one of its owners by uid. With many owners it uses an index, so that examining
 * all dependents of an owner is not quadratic.
 */
import type { OwnerReference } from '../../api/gen/meta-v1.ts';

/** Up to this number of owner references the list is searched; beyond, an index is built. */
const FEW = 16;

const indexes = new WeakMap<readonly OwnerReference[], ReadonlyMap<string, OwnerReference>>();

export function ownerOf(
  { owners }: { readonly owners: readonly OwnerReference[] },
  uid: string,
): OwnerReference | undefined {
  if (owners.length <= FEW) return owners.find((reference) => reference.uid === uid);
  let index = indexes.get(owners);
  if (index === undefined) indexes.set(owners, (index = indexOf(owners)));
  return index.get(uid);
}

/** The first reference counts where several name one uid. */
function indexOf(owners: readonly OwnerReference[]): ReadonlyMap<string, OwnerReference> {
  const index = new Map<string, OwnerReference>();
  for (const reference of owners) if (!index.has(reference.uid)) index.set(reference.uid, reference);
  return index;
}
