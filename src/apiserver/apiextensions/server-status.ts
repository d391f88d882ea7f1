/** The managed fields of a definition's status, which the server itself writes. Upstream's controllers write it through the API. */
import { jsonOf, objectOf } from '../../api/object.ts';
import type { CustomResourceDefinition } from '../../api/gen/apiextensions-v1.ts';
import type { FieldSet } from '../../api/managed-fields/field-set.ts';
import { leaf } from '../../api/managed-fields/field-set.ts';
import { trackUpdate } from '../../api/managed-fields/field-manager.ts';
import { schemaOf } from '../../api/schema/schema.ts';

/** The manager of upstream's writes: the name of its program. */
const MANAGER = 'kube-apiserver';
const NOT_STATUS: FieldSet = { 'f:metadata': leaf, 'f:spec': leaf };

/** The definition with a new status, whose changed fields belong to the server. */
export function ownStatus(
  live: CustomResourceDefinition,
  next: CustomResourceDefinition,
  time: string,
): CustomResourceDefinition {
  if (next === live) return live;
  const schema = schemaOf('apiextensions.k8s.io', 'v1', 'CustomResourceDefinition')!;
  const request = {
    schema,
    manager: MANAGER,
    apiVersion: 'apiextensions.k8s.io/v1',
    subresource: 'status',
    time,
    resetFields: NOT_STATUS,
  };
  return objectOf(trackUpdate(jsonOf(live), jsonOf(next), request)) as CustomResourceDefinition;
}
