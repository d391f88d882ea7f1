/**
 * Namespace and object selectors of webhooks and policies. Upstream: apiserver/pkg/admission/plugin/webhook/predicates
 * namespace and object.
 */
import { Namespaces } from '../../api/gen/resources.ts';
import type { LabelMatcher, Labels } from '../../api/label-selector.ts';
import { notFound } from '../../api/status-error.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import type { AdmissionAttributes } from '../admission/contract.ts';

/** Whether a request is on a Namespace, to which its own labels apply. */
export function isNamespace(resource: { readonly group: string; readonly resource: string }): boolean {
  return resource.group === '' && resource.resource === 'namespaces';
}

/** The namespace a request is about; for a namespace, itself. */
export function namespaceOf({ resource, namespace, name, object }: AdmissionAttributes): string {
  if (namespace !== '' || !isNamespace(resource)) return namespace;
  return name === '' ? (object?.metadata.name ?? '') : name;
}

/**
 * Whether the object, or the one it replaces, is selected. A CONNECT has options as its object, which have no labels.
 */
export function objectSelected(matcher: LabelMatcher, { object, oldObject, operation }: AdmissionAttributes): boolean {
  if (matcher.isEverything) return true;
  if (operation === 'CONNECT') return false;
  return [object, oldObject].some((one) => one !== undefined && matcher.matches(one.metadata?.labels));
}

/**
 * Whether the request's namespace is selected; requests without a namespace always are. Rejects with 404 for an
 * unknown namespace.
 */
export async function namespaceSelected(
  matcher: LabelMatcher,
  attributes: AdmissionAttributes,
  objects: ObjectStore,
): Promise<boolean> {
  if (matcher.isEverything) return true;
  const { resource, operation, subresource, object } = attributes;
  const name = namespaceOf(attributes);
  if (name === '' && !isNamespace(resource)) return true;
  if (isNamespace(resource) && subresource === '' && (operation === 'CREATE' || operation === 'UPDATE'))
    return matcher.matches(object?.metadata.labels);
  return matcher.matches(await namespaceLabels(objects, name));
}

async function namespaceLabels(objects: ObjectStore, name: string): Promise<Labels> {
  const namespaceObject = objects.get(Namespaces, '', name) ?? (await objects.getFresh(Namespaces, '', name));
  if (namespaceObject === undefined) throw notFound(Namespaces, name);
  return namespaceObject.metadata.labels;
}
