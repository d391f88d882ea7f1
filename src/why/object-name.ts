/** Objects by the words a command takes. */
import type { KubernetesObject } from '../api/object.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import type { ObjectName } from './explanation.ts';

export function nameOfObject(info: ResourceInfo, { metadata }: KubernetesObject): ObjectName {
  return nameOf(info, metadata);
}

/** The name of what a resource's object of this name would be, whether it is there or not. */
export function nameOf(info: ResourceInfo, key: { readonly namespace?: string; readonly name?: string }): ObjectName {
  const { namespace, name = '' } = key;
  const kind = isCommon(info) ? info.singular : `${info.singular}.${info.group}`;
  return info.namespaced && namespace !== undefined ? { kind, namespace, name } : { kind, name };
}

/** Kinds of which a command needs no group. */
function isCommon({ group }: ResourceInfo): boolean {
  return group === '' || !group.includes('.') || group.endsWith('.k8s.io');
}

/** ` -n NAMESPACE` for a command about an object that has one. */
export function inNamespace({ namespace }: { readonly namespace?: string }): string {
  return namespace === undefined || namespace === '' ? '' : ` -n ${namespace}`;
}
