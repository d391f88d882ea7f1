/**
 * The hash that tells whether a running container was made from the present spec. As upstream only name and image count:
 * everything else is immutable in a running pod or (resources) changed in place. Upstream: kubecontainer.HashContainer.
 */
import type { Container } from '../../api/gen/core-v1.ts';
import { fnv32a } from '../../base/fnv.ts';
import { stableStringify } from '../../base/stable-json.ts';

/** Containers never change, and each is asked about at every sync of its pod. */
const known = new WeakMap<Container, string>();

/** A hexadecimal hash of what a restart would change. Not comparable with upstream's, which hashes Go's own encoding. */
export function containerHash(container: Container): string {
  let hash = known.get(container);
  if (hash === undefined) {
    hash = fnv32a(stableStringify({ name: container.name, image: container.image ?? '' })).toString(16);
    known.set(container, hash);
  }
  return hash;
}
