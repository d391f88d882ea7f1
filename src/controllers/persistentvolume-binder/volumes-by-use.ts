/** An index of volumes by the claim they are kept for, those of no claim by their class. */
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { Informer } from '../../client/informer.ts';
import { keyOfObject } from '../../client/object-store.ts';
import { classOf } from './matching.ts';

const VOLUMES_BY_USE = 'volumes by claim or class';

export function addUseIndex(volumes: Informer<PersistentVolume>): void {
  volumes.addIndex(VOLUMES_BY_USE, useOf);
}

/** The volumes that are kept for the claim, then those of its class that are free: no others can be bound to it. */
export function volumesFor(
  volumes: Informer<PersistentVolume>,
  claim: Stored<PersistentVolumeClaim>,
): Stored<PersistentVolume>[] {
  const kept = volumes.byIndex(VOLUMES_BY_USE, keyOfObject(claim));
  return [...kept, ...volumes.byIndex(VOLUMES_BY_USE, freeOfClass(classOf(claim)))];
}

function useOf(volume: PersistentVolume): string[] {
  const { claimRef } = volume.spec ?? {};
  return [claimRef === undefined ? freeOfClass(classOf(volume)) : `${claimRef.namespace ?? ''}/${claimRef.name ?? ''}`];
}

/** No claim's key begins so. */
function freeOfClass(name: string): string {
  return `free ${name}`;
}
