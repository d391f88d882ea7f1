/**
 * Derives a version's rules from those of the stored version: objects are defaulted and validated in their stored
 * form. Upstream has the rules once, for the internal version.
 */
import type { KubernetesObject } from '../../../api/object.ts';
import { deepEqual } from '../../../base/equal.ts';
import type { KindRules, StatusRules } from '../kind-strategy.ts';

type WithSpec = KubernetesObject & { spec?: unknown };

interface Conversion {
  toStored(object: KubernetesObject): KubernetesObject;
  fromStored(object: KubernetesObject): KubernetesObject;
}

/** The rules of the main resource. */
export function convertedRules<T extends KubernetesObject>(
  rules: KindRules<T>,
  { toStored, fromStored }: Conversion,
): KindRules<KubernetesObject> {
  const { emptyStatus, defaults, validate } = rules;
  const stored = (object: KubernetesObject): T => toStored(object) as T;
  return {
    emptyStatus,
    ...(defaults === undefined
      ? {}
      : {
          defaults(draft) {
            const converted = stored(draft);
            defaults(converted);
            const { spec } = fromStored(converted) as WithSpec;
            // An object with its defaults may be shared, so it is not changed.
            if (!deepEqual((draft as WithSpec).spec, spec)) (draft as WithSpec).spec = spec;
          },
        }),
    validate: (object, field) => validate?.(stored(object), field),
    validateUpdate(object, old, field) {
      if (rules.validateUpdate !== undefined) rules.validateUpdate(stored(object), stored(old), field);
      else validate?.(stored(object), field);
    },
  };
}

/** The rules of `status`, which has the same form in both versions. */
export function convertedStatusRules<T extends KubernetesObject>(
  { keepsMetadata, prepareForUpdate, validateUpdate }: StatusRules<T>,
  { toStored }: Conversion,
): StatusRules<KubernetesObject> {
  return {
    keepsMetadata: keepsMetadata === true,
    prepareForUpdate: (draft, old, context) => prepareForUpdate?.(draft as T, old as T, context),
    validateUpdate: (object, old, field) => validateUpdate?.(toStored(object) as T, toStored(old) as T, field),
  };
}
