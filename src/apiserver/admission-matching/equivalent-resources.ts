/**
 * The other versions of a resource, and conversion of objects between them, for matchPolicy Equivalent. Resources
 * that share their storage are equivalent. Upstream: runtime.EquivalentResourceMapper and generic.ConvertToGVK.
 */
import { canonicalize } from '../../api/codec/canonical.ts';
import { type KubernetesObject, objectOf } from '../../api/object.ts';
import { apiVersionOf } from '../../api/resource-info.ts';
import type { GenericStore } from '../generic-registry/generic-store.ts';
import type { ResourceRegistry } from '../generic-registry/resource-registry.ts';
import type { Conversion } from '../registry/resource-definition.ts';

/** The resource itself first, then its equivalents as they are served. */
export function equivalentsOf(registry: ResourceRegistry, store: GenericStore): GenericStore[] {
  const { storagePrefix } = store.definition;
  if (storagePrefix === '') return [store];
  const others = [...registry.served].filter((one) => one !== store && one.definition.storagePrefix === storagePrefix);
  return [store, ...others];
}

/**
 * The object in another version, canonical; a fresh object. A promise where a conversion webhook is called, whose
 * StatusError it rejects with.
 */
export function convertObject(
  object: KubernetesObject,
  from: GenericStore,
  to: GenericStore,
): KubernetesObject | Promise<KubernetesObject> {
  if (from === to) return objectOf(canonicalize(to.schema, object));
  const { convert } = to.definition.reading ?? {};
  if (convert !== undefined) return convertByWebhook(object, to, convert);
  const stored = from.definition.conversion === undefined ? object : from.definition.conversion.toStored(object);
  const converted = to.definition.conversion === undefined ? stored : to.definition.conversion.fromStored(stored);
  return withTypeMeta(converted, to);
}

async function convertByWebhook(
  object: KubernetesObject,
  to: GenericStore,
  convert: Conversion,
): Promise<KubernetesObject> {
  const [converted] = await convert.fromStored([object]);
  return withTypeMeta(converted!, to);
}

function withTypeMeta(converted: KubernetesObject, to: GenericStore): KubernetesObject {
  const whole = { ...converted, apiVersion: apiVersionOf(to.info), kind: to.info.kind };
  return objectOf(canonicalize(to.schema, whole));
}
