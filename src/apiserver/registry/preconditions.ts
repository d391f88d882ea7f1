/** The preconditions of a deletion. Upstream: rest.BeforeDelete. */
import type { DeleteOptions } from '../../api/gen/meta-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { conflict } from '../../api/status-error.ts';

/** Throws 409, which names the kind, when a precondition does not hold. */
export function checkPreconditions(
  { group, kind }: { readonly group: string; readonly kind: string },
  object: KubernetesObject,
  options: DeleteOptions,
): void {
  const { uid, resourceVersion } = options.preconditions ?? {};
  const { metadata } = object;
  const refuse = (why: string): never => {
    throw conflict({ group, resource: kind }, metadata.name ?? '', why);
  };
  if (uid !== undefined && uid !== metadata.uid) {
    refuse(
      `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`,
    );
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    refuse(
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`,
    );
  }
}
