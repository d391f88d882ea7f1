/**
 * Namespace and object selectors of webhooks and policies. Upstream: apiserver/pkg/admission/plugin/webhook/predicates
 * namespace and object.
 */
import type { LabelSelector } from '../../../api/gen/meta-v1.ts';
import { Namespaces } from '../../../api/gen/resources.ts';
import { compileLabelSelector, type Labels } from '../../../api/label-selector.ts';
import type { KubernetesObject } from '../../../api/object.ts';
import type { ObjectStore } from '../../registry/object-store.ts';
import type { AdmissionAttributes } from '../contract.ts';

/** Whether the request's namespace is selected. What has no namespace always is; a Namespace is judged by its own labels. Rejects with 404 for a namespace that does not exist. */
export function namespaceSelected(
  selector: LabelSelector | undefined,
  attributes: AdmissionAttributes,
  objects: ObjectStore,
): boolean | Promise<boolean> {
  const matcher = compileLabelSelector(selector ?? {});
  const { resource, namespace, object, oldObject } = attributes;
  const isNamespace = resource.group === '' && resource.resource === 'namespaces';
  if (matcher.isEverything || (namespace === '' && !isNamespace)) return true;
  if (isNamespace) return matcher.matches((object ?? oldObject)?.metadata.labels);
  const known = objects.get(Namespaces, '', namespace);
  if (known !== undefined) return matcher.matches(known.metadata.labels);
  return objects.getFresh(Namespaces, '', namespace).then((fresh) => matcher.matches(fresh?.metadata.labels));
}

/** Whether the object, or the one it replaces, is selected. What has no labels at all (options of a connect) only by an empty selector. */
export function objectSelected(selector: LabelSelector | undefined, attributes: AdmissionAttributes): boolean {
  const matcher = compileLabelSelector(selector ?? {});
  if (matcher.isEverything) return true;
  const selects = (object: KubernetesObject | undefined): boolean =>
    object?.metadata !== undefined && matcher.matches(object.metadata.labels as Labels);
  return selects(attributes.object) || selects(attributes.oldObject);
}
