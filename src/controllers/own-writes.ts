/**
 * The newest revision of each object that a controller wrote itself, so that it never acts on an older copy from its cache:
 * the event of the write brings the object back. Upstream: the gates StaleControllerConsistency* of v1.36.
 */
import type { KubernetesObject, Stored } from '../api/object.ts';
import { compareRevisions } from '../client/revisions.ts';

export class OwnWrites {
  readonly #revisions = new Map<string, string>();

  /** Notes an object as the server answered it. */
  note(key: string, { metadata }: Stored<KubernetesObject>): void {
    const { resourceVersion } = metadata;
    if (compareRevisions(resourceVersion, this.#revisions.get(key) ?? '') > 0)
      this.#revisions.set(key, resourceVersion);
  }

  /** Whether the cached copy is older than what was written. */
  isBehind(key: string, { metadata }: Stored<KubernetesObject>): boolean {
    return compareRevisions(metadata.resourceVersion, this.#revisions.get(key) ?? '') < 0;
  }

  /** The object is gone. */
  forget(key: string): void {
    this.#revisions.delete(key);
  }
}
