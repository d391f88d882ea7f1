/** Reads and writes of single objects for the garbage collector, by identity. Upstream: garbagecollector operations, patch. */
import type { OwnerReference } from '../../api/gen/meta-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { isReason, ignoreNotFound } from '../../api/status-error.ts';
import type { Client, ResourceClient } from '../../client/client.ts';
import { retryOnConflict } from '../../client/retry-on-conflict.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Identity } from './graph.ts';
import type { ResourceMonitors } from './resource-monitors.ts';

/**
 * A cluster-scoped object names a namespaced owner: the owner's namespace is unknown, so the object is never
 * collected.
 */
export class NamespacedOwnerError extends Error {
  constructor(identity: Identity) {
    super(`cluster-scoped objects cannot refer to namespaced owners (${identity.kind} ${identity.name})`);
    this.name = 'NamespacedOwnerError';
  }
}

/** Objects on the server. */
export interface LiveObjects {
  /** Throws when the kind is not served, or is namespaced and the namespace is unknown. */
  checkKind(identity: Identity): void;
  /** The object, or undefined when none with this uid exists. Rejects when its kind is not served. */
  read(identity: Identity): Promise<KubernetesObject | undefined>;
  /** Deletes the object with this uid; NotFound is no error. */
  remove(identity: Identity, policy: 'Orphan' | 'Background' | 'Foreground'): Promise<void>;
  /** Replaces the owner references. `change` gets the stored ones and returns the same array to leave them. */
  changeOwners(
    identity: Identity,
    change: (owners: readonly OwnerReference[]) => readonly OwnerReference[],
  ): Promise<void>;
  removeFinalizer(identity: Identity, finalizer: string): Promise<void>;
}

/** All calls end with `signal`. */
export function createLiveObjects(
  deps: { readonly client: Client; readonly monitors: ResourceMonitors; readonly clock: Clock },
  signal: AbortSignal,
): LiveObjects {
  function locate(identity: Identity): {
    resource: ResourceClient<KubernetesObject>;
    key: { namespace?: string; name: string };
  } {
    const info = deps.monitors.resolve(identity.apiVersion, identity.kind);
    if (info === undefined) throw new Error(`no resource serves kind ${identity.kind} of ${identity.apiVersion}`);
    if (info.namespaced && identity.namespace === undefined) throw new NamespacedOwnerError(identity);
    const key = info.namespaced
      ? { namespace: identity.namespace as string, name: identity.name }
      : { name: identity.name };
    return { resource: deps.client.resource(info), key };
  }

  async function read(identity: Identity): Promise<KubernetesObject | undefined> {
    const found = locate(identity);
    try {
      const live = await found.resource.get(found.key, { signal });
      return live.metadata.uid === identity.uid ? live : undefined;
    } catch (error) {
      if (isReason(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  async function patchMetadata(
    identity: Identity,
    metadataOf: (live: KubernetesObject) => object | undefined,
  ): Promise<void> {
    await retryOnConflict(
      deps.clock,
      async () => {
        const live = await read(identity);
        const metadata = live === undefined ? undefined : metadataOf(live);
        if (live === undefined || metadata === undefined) return;
        const found = locate(identity);
        const patch = { metadata: { uid: identity.uid, resourceVersion: live.metadata.resourceVersion, ...metadata } };
        await found.resource.patch(found.key, { type: 'merge', patch }, { signal }).catch(ignoreNotFound);
      },
      signal,
    );
  }

  return {
    checkKind(identity) {
      locate(identity);
    },
    read,
    async remove(identity, policy) {
      const found = locate(identity);
      try {
        await found.resource.delete(found.key, {
          propagationPolicy: policy,
          preconditions: { uid: identity.uid },
          signal,
        });
      } catch (error) {
        // A conflict means that another object has the name.
        if (!isReason(error, 'NotFound', 'Conflict')) throw error;
      }
    },
    changeOwners: (identity, change) =>
      patchMetadata(identity, (live) => {
        const owners = live.metadata.ownerReferences ?? [];
        const next = change(owners);
        return next === owners ? undefined : { ownerReferences: next.length === 0 ? null : next };
      }),
    removeFinalizer: (identity, finalizer) =>
      patchMetadata(identity, (live) => {
        const finalizers = live.metadata.finalizers ?? [];
        if (!finalizers.includes(finalizer)) return undefined;
        const next = finalizers.filter((other) => other !== finalizer);
        return { finalizers: next.length === 0 ? null : next };
      }),
  };
}
