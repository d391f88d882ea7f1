/**
 * Owners that exist on the server but that no watch has shown, because their kind cannot be watched or was not yet.
 * The server is asked once about each owner for all its dependents. Upstream: the virtual nodes of the garbage
 * collector's graph.
 */
import type { KubernetesObject } from '../../api/object.ts';
import { FOREGROUND_FINALIZER, type Identity, type OwnerGraph } from './graph.ts';
import type { LiveObjects } from './live-objects.ts';

export class UnseenOwners {
  readonly #graph: Pick<OwnerGraph, 'dependentsOf'>;
  readonly #byUid = new Map<string, Identity>();

  constructor(graph: Pick<OwnerGraph, 'dependentsOf'>) {
    this.#graph = graph;
  }

  /** Returns false when the owner is already here. */
  add(owner: Identity): boolean {
    if (this.#byUid.has(owner.uid)) return false;
    this.#byUid.set(owner.uid, owner);
    return true;
  }

  /** A watch has shown the owner. */
  remove(uid: string): void {
    this.#byUid.delete(uid);
  }

  /**
   * The dependents to verify when the owner is gone or in foreground deletion. Throws while it must be checked again.
   */
  async check(live: LiveObjects, uid: string): Promise<readonly string[]> {
    const identity = this.#byUid.get(uid);
    if (identity === undefined) return [];
    const isNamed = this.#uidsOfDependents(uid).length > 0;
    const owner = isNamed ? await live.read(identity) : undefined;
    if (owner !== undefined && !waitsForDependents(owner)) throw new Error('an owner exists but was not seen yet');
    // Dependents whose owner remains add it again.
    this.#byUid.delete(uid);
    return this.#uidsOfDependents(uid);
  }

  #uidsOfDependents(uid: string): readonly string[] {
    return [...this.#graph.dependentsOf(uid)].map((dependent) => dependent.identity.uid);
  }
}

/** Whether it is in foreground deletion. */
export function waitsForDependents({ metadata }: KubernetesObject): boolean {
  return metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).includes(FOREGROUND_FINALIZER);
}
