/** The response of operations without an object. */
import type { KubernetesObject } from '../../api/object.ts';

/** `{"kind":"Status","status":"Success"}`. */
export function successStatus(): KubernetesObject {
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };
  return status;
}
