/** An index of volumes by the claim in their claimRef; those without one by their class. */
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { Informer } from '../../client/informer.ts';
import { keyOfObject } from '../../client/object-store.ts';
import { classOf } from './matching.ts';

const VOLUMES_BY_USE = 'volumes by claim or class';

export function addUseIndex(volumes: Informer<PersistentVolume>): void {
  volumes.addIndex(VOLUMES_BY_USE, useOf);
}

/** The volumes reserved for the claim, then unreserved ones of its class: no others can be bound to it. */
export function volumesFor(
  volumes: Informer<PersistentVolume>,
  claim: Stored<PersistentVolumeClaim>,
): Stored<PersistentVolume>[] {
  const persistentVolumes = volumes.byIndex(VOLUMES_BY_USE, keyOfObject(claim));
  return [...persistentVolumes, ...volumes.byIndex(VOLUMES_BY_USE, freeOfClass(classOf(claim)))];
}

function useOf(volume: PersistentVolume): string[] {
  const { claimRef } = volume.spec ?? {};
  return [claimRef === undefined ? freeOfClass(classOf(volume)) : `${claimRef.namespace ?? ''}/${claimRef.name ?? ''}`];
}

/** Cannot equal a claim's key, which has no such prefix. */
function freeOfClass(name: string): string {
  return `free ${name}`;
}
