/** The users and groups that the subjects of RBAC bindings name. Pure. Upstream: pkg/registry/rbac/validation/rule.go (appliesToUser). */
import type { Subject } from '../../api/gen/rbac-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { Principal } from '../../api/transport.ts';

/**
 * The key of the user or group that a subject means, comparable with `principalKeys`. @param bindingNamespace the
 * namespace of a service account that names none; '' for cluster role bindings
 */
export function subjectKey(subject: Subject, bindingNamespace: string): string {
  if (subject.kind !== 'ServiceAccount') return `${subject.kind}:${subject.name}`;
  const namespace = subject.namespace === undefined || subject.namespace === '' ? bindingNamespace : subject.namespace;
  return `User:system:serviceaccount:${namespace}:${subject.name}`;
}

export function principalKeys(user: Principal): string[] {
  return [`User:${user.name}`, ...user.groups.map((group) => `Group:${group}`)];
}

/** The namespace of an object; '' for cluster-scoped objects. */
export function namespaceOf({ metadata }: KubernetesObject): string {
  return metadata.namespace ?? '';
}
