/** The size that a claim requests. */
import type { PersistentVolumeClaim } from '../api/gen/core-v1.ts';

/** `spec.resources.requests.storage`, or '0' where the claim does not name it. */
export function requestedStorage({ spec }: PersistentVolumeClaim): string {
  return spec?.resources?.requests?.['storage'] ?? '0';
}
