/** Rules of one version from those of the version that is stored: objects are defaulted and looked at as they are stored. Upstream has them once, for the internal version. */
import type { KubernetesObject } from '../../../api/object.ts';
import { deepEqual } from '../../../base/equal.ts';
import type { KindRules, StatusRules } from '../kind-strategy.ts';

type WithSpec = KubernetesObject & { spec?: unknown };

interface Conversion {
  toStored(object: KubernetesObject): KubernetesObject;
  fromStored(object: KubernetesObject): KubernetesObject;
}

/** Rules of the main resource. */
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
            // What has its defaults may be shared with others, and is left alone.
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

/** Rules of `status`, whose form is the same in both. */
export function convertedStatusRules<T extends KubernetesObject>(
  { prepareForUpdate, validateUpdate }: StatusRules<T>,
  { toStored }: Conversion,
): StatusRules<KubernetesObject> {
  return {
    prepareForUpdate: (draft, old, context) => prepareForUpdate?.(draft as T, old as T, context),
    validateUpdate: (object, old, field) => validateUpdate?.(toStored(object) as T, toStored(old) as T, field),
  };
}
