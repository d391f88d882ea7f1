/**
 * Adoption and release: which objects a controller manages, by owner reference and selector. Upstream: controller
 * ControllerRefManager.
 *
 * Invariants: an object with another controller is never touched; before the first adoption the owner is read live, so
 * that an owner deleted and made anew under the same name adopts nothing by mistake.
 */
import type { KubernetesObject } from '../api/object.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import { isReason } from '../api/status-error.ts';
import type { ResourceClient } from '../client/client.ts';
import { controllerOf, newControllerReference } from '../component-helpers/owner-references.ts';

/** Who claims what. */
export interface ClaimConfig<T extends KubernetesObject> {
  readonly owner: KubernetesObject;
  readonly ownerInfo: ResourceInfo;
  readonly matches: (object: T) => boolean;
  readonly client: ResourceClient<T>;
  /** Added to what is adopted. */
  readonly adoptFinalizers?: readonly string[];
  /** Reads the owner from the server. */
  readonly readOwner: () => Promise<KubernetesObject>;
  readonly signal: AbortSignal;
}

/** Adopts matching orphans, releases what no longer matches, returns what is the owner's. */
export async function claimObjects<T extends KubernetesObject>(
  config: ClaimConfig<T>,
  objects: readonly T[],
): Promise<T[]> {
  const claimed: T[] = [];
  let mayAdopt: Promise<void> | undefined;
  for (const object of objects) {
    const verdict = judge(config, object);
    if (verdict === 'ours') claimed.push(object);
    else if (verdict === 'release') await release(config, object);
    else if (verdict === 'adopt') {
      mayAdopt ??= checkOwnerLives(config);
      await mayAdopt;
      if (await adopt(config, object)) claimed.push(object);
    }
  }
  return claimed;
}

function judge<T extends KubernetesObject>(config: ClaimConfig<T>, object: T): 'ours' | 'release' | 'adopt' | 'other' {
  const controller = controllerOf(object);
  const dying = config.owner.metadata.deletionTimestamp !== undefined;
  if (controller !== undefined) {
    if (controller.uid !== config.owner.metadata.uid) return 'other';
    if (config.matches(object)) return 'ours';
    return dying ? 'other' : 'release';
  }
  if (dying || !config.matches(object) || object.metadata.deletionTimestamp !== undefined) return 'other';
  return 'adopt';
}

async function checkOwnerLives<T extends KubernetesObject>({ owner, readOwner }: ClaimConfig<T>): Promise<void> {
  const live = await readOwner();
  const { namespace, name, uid } = owner.metadata;
  if (live.metadata.uid !== uid)
    throw new Error(`original ${namespace}/${name} is gone: got uid ${live.metadata.uid}, wanted ${uid}`);
  if (live.metadata.deletionTimestamp !== undefined) {
    throw new Error(`${namespace}/${name} has just been deleted at ${live.metadata.deletionTimestamp}`);
  }
}

async function adopt<T extends KubernetesObject>(config: ClaimConfig<T>, object: T): Promise<boolean> {
  const ownerReferences = [newControllerReference(config.owner, config.ownerInfo)];
  const finalizers = config.adoptFinalizers === undefined ? {} : { finalizers: config.adoptFinalizers };
  return await patch(config, object, { metadata: { uid: object.metadata.uid, ownerReferences, ...finalizers } });
}

async function release<T extends KubernetesObject>(config: ClaimConfig<T>, object: T): Promise<void> {
  const ownerReferences = [{ $patch: 'delete', uid: config.owner.metadata.uid }];
  await patch(config, object, { metadata: { uid: object.metadata.uid, ownerReferences } });
}

/** False when the object is gone or was replaced meanwhile: nothing left to do then. */
async function patch<T extends KubernetesObject>(config: ClaimConfig<T>, object: T, body: object): Promise<boolean> {
  const { namespace, name } = object.metadata;
  const key = { name: name ?? '', ...(namespace === undefined ? {} : { namespace }) };
  try {
    await config.client.patch(key, { type: 'strategic', patch: body }, { signal: config.signal });
    return true;
  } catch (error) {
    if (isReason(error, 'NotFound', 'Invalid')) return false;
    throw error;
  }
}
