/**
 * The newest resource version of each object that a controller wrote, so that it never acts on an older copy from its
 * cache: the event of the write enqueues the object again. Upstream: the gates StaleControllerConsistency* of v1.36.
 */
import type { KubernetesObject, Stored } from '../api/object.ts';
import { compareRevisions } from '../client/revisions.ts';

export class OwnWrites {
  readonly #revisions = new Map<string, string>();

  /** Records an object as the server returned it. */
  note(key: string, { metadata }: Stored<KubernetesObject>): void {
    const { resourceVersion } = metadata;
    if (compareRevisions(resourceVersion, this.#revisions.get(key) ?? '') > 0)
      this.#revisions.set(key, resourceVersion);
  }

  /** Whether the cached copy is older than the controller's last write. */
  isBehind(key: string, { metadata }: Stored<KubernetesObject>): boolean {
    return compareRevisions(metadata.resourceVersion, this.#revisions.get(key) ?? '') < 0;
  }

  /** Drops a deleted object. */
  forget(key: string): void {
    this.#revisions.delete(key);
  }
}
