/**
 * The hash that shows whether a container was made from an older spec. As upstream it covers only name and image:
 * everything else is immutable in a running pod or (resources) changed in place. Upstream:
 * kubecontainer.HashContainer.
 */
import type { Container } from '../../api/gen/core-v1.ts';
import { fnv32a } from '../../base/fnv.ts';
import { stableStringify } from '../../base/stable-json.ts';

/** A cache, since each container is hashed at every sync of its pod. */
const cache = new WeakMap<Container, string>();

/**
 * A hexadecimal hash of the fields whose change restarts the container. It differs from upstream's, which hashes Go's
 * own encoding.
 */
export function containerHash(container: Container): string {
  let hash = cache.get(container);
  if (hash === undefined) {
    hash = fnv32a(stableStringify({ name: container.name, image: container.image ?? '' })).toString(16);
    cache.set(container, hash);
  }
  return hash;
}
