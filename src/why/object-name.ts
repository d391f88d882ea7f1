/** Names of objects as arguments of commands: `deployment`, or `widget.example.com` with its group, namespace and name. */
import type { KubernetesObject } from '../api/object.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import type { ObjectName } from './explanation.ts';

export function nameOfObject(info: ResourceInfo, { metadata }: KubernetesObject): ObjectName {
  return nameOf(info, metadata);
}

/** The name of an object by its resource and key; the object need not exist. */
export function nameOf(info: ResourceInfo, key: { readonly namespace?: string; readonly name?: string }): ObjectName {
  const { namespace, name = '' } = key;
  const kind = isCommon(info) ? info.singular : `${info.singular}.${info.group}`;
  return info.namespaced && namespace !== undefined ? { kind, namespace, name } : { kind, name };
}

/** Whether commands find the kind without its group: kinds of the core group and of Kubernetes' own groups. */
function isCommon({ group }: ResourceInfo): boolean {
  return group === '' || !group.includes('.') || group.endsWith('.k8s.io');
}

/** ` -n NAMESPACE` for commands about a namespaced object, else empty. */
export function inNamespace({ namespace }: { readonly namespace?: string }): string {
  return namespace === undefined || namespace === '' ? '' : ` -n ${namespace}`;
}
