/**
 * Adoption and release: which objects a controller manages, by owner reference and selector. Upstream: controller
 * ControllerRefManager.
 *
 * Invariants: an object with another controller is never changed; before the first adoption the owner is read from
 * the server, so that an owner that was deleted and created again under the same name does not adopt pods of the old
 * one.
 */
import type { LabelMatcher } from '../api/label-selector.ts';
import type { KubernetesObject, Stored } from '../api/object.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import { isReason } from '../api/status-error.ts';
import { StepMeter } from '../base/steps.ts';
import type { Client, ResourceClient } from '../client/client.ts';
import { keyOfObject, parseKey } from '../client/object-store.ts';
import { controllerOf, newControllerReference } from '../component-helpers/owner-references.ts';
import { REQUIREMENTS_PER_TURN } from './selecting-owners.ts';

/** The claiming controller, its object and its selector. */
export interface ClaimConfig {
  readonly client: Client;
  readonly owner: Stored<KubernetesObject>;
  readonly ownerInfo: ResourceInfo<KubernetesObject>;
  readonly selector: LabelMatcher;
  /** Finalizers added to adopted objects. */
  readonly adoptFinalizers?: readonly string[];
  readonly signal: AbortSignal;
  /** Yields to the event loop. */
  readonly pause: () => Promise<void>;
}

/** The objects of one kind among which the owner's are found. */
export interface Claimable<T extends KubernetesObject> {
  readonly info: ResourceInfo<T>;
  readonly objects: readonly Stored<T>[];
}

interface Claim<T extends KubernetesObject> extends ClaimConfig {
  readonly claimed: ResourceClient<T>;
}

/** Adopts matching orphans, releases objects that no longer match, and returns the owner's objects. */
export async function claimObjects<T extends KubernetesObject>(
  config: ClaimConfig,
  { info, objects }: Claimable<T>,
): Promise<Stored<T>[]> {
  const claim = { ...config, claimed: config.client.resource(info) };
  const claimed: Stored<T>[] = [];
  const meter = new StepMeter(REQUIREMENTS_PER_TURN);
  let mayAdopt: Promise<void> | undefined;
  for (const object of objects) {
    const verdict = classify(config, object);
    if (meter.endsStep(1 + config.selector.size)) await config.pause();
    if (verdict === 'ours') claimed.push(object);
    else if (verdict === 'release') await release(claim, object);
    else if (verdict === 'adopt') {
      mayAdopt ??= checkOwnerLives(config);
      await mayAdopt;
      if (await adopt(claim, object)) claimed.push(object);
    }
  }
  return claimed;
}

function classify(config: ClaimConfig, object: KubernetesObject): 'ours' | 'release' | 'adopt' | 'other' {
  const controller = controllerOf(object);
  const dying = config.owner.metadata.deletionTimestamp !== undefined;
  if (controller !== undefined && controller.uid !== config.owner.metadata.uid) return 'other';
  const matches = config.selector.matches(object.metadata.labels);
  if (controller !== undefined) {
    if (matches) return 'ours';
    return dying ? 'other' : 'release';
  }
  if (dying || !matches || object.metadata.deletionTimestamp !== undefined) return 'other';
  return 'adopt';
}

async function checkOwnerLives({ client, owner, ownerInfo, signal }: ClaimConfig): Promise<void> {
  const live = await client.resource(ownerInfo).get(parseKey(keyOfObject(owner)), { signal });
  const { namespace, name, uid } = owner.metadata;
  if (live.metadata.uid !== uid)
    throw new Error(`original ${namespace}/${name} is gone: got uid ${live.metadata.uid}, wanted ${uid}`);
  if (live.metadata.deletionTimestamp !== undefined) {
    throw new Error(`${namespace}/${name} has just been deleted at ${live.metadata.deletionTimestamp}`);
  }
}

async function adopt<T extends KubernetesObject>(claim: Claim<T>, object: T): Promise<boolean> {
  const ownerReferences = [newControllerReference(claim.owner, claim.ownerInfo)];
  const finalizers = claim.adoptFinalizers === undefined ? {} : { finalizers: claim.adoptFinalizers };
  return await patch(claim, object, { metadata: { uid: object.metadata.uid, ownerReferences, ...finalizers } });
}

async function release<T extends KubernetesObject>(claim: Claim<T>, object: T): Promise<void> {
  const ownerReferences = [{ $patch: 'delete', uid: claim.owner.metadata.uid }];
  await patch(claim, object, { metadata: { uid: object.metadata.uid, ownerReferences } });
}

/** False when the object was deleted or replaced, so that nothing is left to do. */
async function patch<T extends KubernetesObject>(claim: Claim<T>, object: T, body: object): Promise<boolean> {
  try {
    const key = parseKey(keyOfObject(object));
    await claim.claimed.patch(key, { type: 'strategic', patch: body }, { signal: claim.signal });
    return true;
  } catch (error) {
    if (isReason(error, 'NotFound', 'Invalid')) return false;
    throw error;
  }
}
