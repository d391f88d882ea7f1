/** What a deletion may ask of the object it is about. Upstream: storage.Preconditions.Check. */
import type { DeleteOptions } from '../../api/gen/meta-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { conflict, type GroupResource } from '../../api/status-error.ts';

/** Throws 409 when a precondition does not hold. */
export function checkPreconditions(of: GroupResource, object: KubernetesObject, options: DeleteOptions): void {
  const { uid, resourceVersion } = options.preconditions ?? {};
  const { metadata } = object;
  const name = metadata.name ?? '';
  if (uid !== undefined && uid !== metadata.uid) {
    throw conflict(of, name, `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`);
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    const text = `ResourceVersion in precondition: ${resourceVersion}, ResourceVersion in object meta: ${metadata.resourceVersion}`;
    throw conflict(of, name, `Precondition failed: ${text}`);
  }
}
