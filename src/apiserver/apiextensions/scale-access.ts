/** The scale sub-resource of custom resources, by the paths in their definition. Upstream: customresource ScaleREST. */
import { isObject, type JsonObject, setOwn } from '../../api/codec/own-property.ts';
import type { CustomResourceSubresourceScale } from '../../api/gen/apiextensions-v1.ts';
import { findValues } from '../../api/json-path-search.ts';
import { parseJsonPath, plainFields } from '../../api/json-path.ts';
import { jsonOf, type KubernetesObject } from '../../api/object.ts';
import { internalError } from '../../api/status-error.ts';
import { type ScaleAccess, UNSET_REPLICAS } from '../registry/resource-definition.ts';

function fieldsOf(path: string): readonly string[] {
  return plainFields(parseJsonPath(path)) ?? [];
}

function numberAt(object: KubernetesObject, path: string): number {
  const [value] = findValues(parseJsonPath(path), object);
  return typeof value === 'number' ? value : 0;
}

function writeAt(draft: KubernetesObject, [...fields]: readonly string[], value: unknown): void {
  const last = fields.pop();
  if (last === undefined) throw internalError('the scale of this resource names no field');
  let at = jsonOf(draft);
  for (const field of fields) {
    const inner = Object.hasOwn(at, field) ? at[field] : undefined;
    const next: JsonObject = isObject(inner) ? { ...inner } : {};
    setOwn(at, field, next);
    at = next;
  }
  setOwn(at, last, value);
}

/** Reads and writes a scale. */
export function customScale(scale: CustomResourceSubresourceScale): ScaleAccess<KubernetesObject> {
  const replicas = fieldsOf(scale.specReplicasPath);
  return {
    read(object) {
      const { labelSelectorPath = '' } = scale;
      const [selector] = labelSelectorPath === '' ? [] : findValues(parseJsonPath(labelSelectorPath), object);
      const [found] = findValues(parseJsonPath(scale.specReplicasPath), object);
      return {
        specReplicas: found === undefined ? UNSET_REPLICAS : numberAt(object, scale.specReplicasPath),
        statusReplicas: numberAt(object, scale.statusReplicasPath),
        selector: typeof selector === 'string' ? selector : '',
      };
    },
    write: (draft, value) => writeAt(draft, replicas, value),
    replicasPath: replicas,
  };
}
