/** Persistent volumes by the secrets that mounting them needs. Built at the first lookup. */
import type { PersistentVolume } from '../../api/gen/core-v1.ts';
import { PersistentVolumes } from '../../api/gen/resources.ts';
import type { Stored } from '../../api/object.ts';
import { volumeSecrets } from '../../component-helpers/pod-references.ts';
import type { ObjectStore } from '../registry/object-store.ts';

export interface VolumeSecrets {
  /** Names of the volumes that are mounted with a secret, `namespace/name`. */
  volumesOf(secret: string): Iterable<string>;
  stop(): void;
}

export function createVolumeSecrets(objects: ObjectStore): VolumeSecrets {
  const volumes = new Map<string, Set<string>>();
  let stop: (() => void) | undefined;
  const leave = (volume: Stored<PersistentVolume>): void => {
    for (const secret of volumeSecrets(volume)) {
      const names = volumes.get(secret);
      names?.delete(volume.metadata.name);
      if (names?.size === 0) volumes.delete(secret);
    }
  };
  const enter = (volume: Stored<PersistentVolume>): void => {
    for (const secret of volumeSecrets(volume)) {
      const names = volumes.get(secret);
      if (names === undefined) volumes.set(secret, new Set([volume.metadata.name]));
      else names.add(volume.metadata.name);
    }
  };
  return {
    volumesOf(secret) {
      stop ??= objects.onChange(PersistentVolumes, (volume, old) => {
        if (old !== undefined) leave(old);
        if (volume !== undefined) enter(volume);
      });
      return volumes.get(secret) ?? [];
    },
    stop: () => stop?.(),
  };
}
