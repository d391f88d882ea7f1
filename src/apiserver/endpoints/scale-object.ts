/** The autoscaling/v1 Scale of an object. Upstream: scaleFrom… of each resource's ScaleREST. */
import type { Scale } from '../../api/gen/autoscaling-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { ScaleAccess } from '../registry/resource-definition.ts';

/** The Scale; a fresh object. */
export function scaleOf(object: KubernetesObject, access: ScaleAccess<KubernetesObject>): Scale {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const { specReplicas, statusReplicas, selector } = access.read(object);
  const metadata = JSON.parse(
    JSON.stringify({ name, namespace, uid, resourceVersion, creationTimestamp }),
  ) as Scale['metadata'];
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata,
    spec: { replicas: specReplicas },
    status: { replicas: statusReplicas, ...(selector === '' ? {} : { selector }) },
  } as Scale;
}
