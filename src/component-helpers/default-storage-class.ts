/**
 * The class of claims that name none: assigned at admission, and later to claims created before the class. Upstream:
 * volume/util/storageclass.go.
 */
import type { PersistentVolumeClaim } from '../api/gen/core-v1.ts';
import type { StorageClass } from '../api/gen/storage-v1.ts';
import { parseTime } from '../api/time.ts';

const ANNOTATIONS = ['storageclass.kubernetes.io/is-default-class', 'storageclass.beta.kubernetes.io/is-default-class'];

/** Whether the claim sets its class; '' means no class. */
export function namesStorageClass({ metadata, spec }: PersistentVolumeClaim): boolean {
  return (
    metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] !== undefined ||
    spec?.storageClassName !== undefined
  );
}

/** The default class, the newest if there are several. */
export function defaultStorageClass(classes: readonly StorageClass[]): StorageClass | undefined {
  const defaults = classes.filter((each) => ANNOTATIONS.some((key) => each.metadata.annotations?.[key] === 'true'));
  return defaults.toSorted(
    (a, b) =>
      parseTime(b.metadata.creationTimestamp) - parseTime(a.metadata.creationTimestamp) ||
      ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1),
  )[0];
}
