/**
 * Restricts the pods that a kubelet creates: a mirror of a static pod, owned by the node, that refers to no other API
 * object. Upstream: noderestriction.admitPodCreate.
 */
import type { Pod } from '../../../api/gen/core-v1.ts';
import { Nodes } from '../../../api/gen/resources.ts';
import { notFound } from '../../../api/status-error.ts';
import { apiObjectReference } from '../../../component-helpers/api-object-reference.ts';
import type { ObjectStore } from '../../registry/object-store.ts';

const MIRROR = 'kubernetes.io/config.mirror';

/** The reason why the node may not create the pod. Throws 404 when the node does not exist. */
export function mirrorPodProblem(pod: Pod, node: string, objects: ObjectStore): string | undefined {
  if (pod.metadata.annotations?.[MIRROR] === undefined)
    return `pod does not have "${MIRROR}" annotation, node "${node}" can only create mirror pods`;
  if (pod.spec?.nodeName !== node) return `node "${node}" can only create pods with spec.nodeName set to itself`;
  const problem = ownerProblem(pod, node, objects);
  if (problem !== undefined) return problem;
  const reference = apiObjectReference(pod);
  return reference === undefined ? undefined : `node "${node}" can not create pods that reference ${reference}`;
}

function ownerProblem(pod: Pod, node: string, objects: ObjectStore): string | undefined {
  const owners = pod.metadata.ownerReferences ?? [];
  const [owner] = owners;
  if (owners.length > 1) return `node "${node}" can only create pods with a single owner reference set to itself`;
  if (owner === undefined || owner.apiVersion !== 'v1' || owner.kind !== 'Node' || owner.name !== node)
    return `node "${node}" can only create pods with an owner reference set to itself`;
  if (owner.controller !== true)
    return `node "${node}" can only create pods with a controller owner reference set to itself`;
  if (owner.blockOwnerDeletion === true) return `node "${node}" must not set blockOwnerDeletion on an owner reference`;
  const stored = objects.get(Nodes, '', node);
  if (stored === undefined) throw notFound({ group: '', resource: 'nodes' }, node);
  return owner.uid === stored.metadata.uid
    ? undefined
    : `node ${node} UID mismatch: expected ${owner.uid} got ${stored.metadata.uid}`;
}
