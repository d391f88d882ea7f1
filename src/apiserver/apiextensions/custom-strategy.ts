/**
 * Strategies of custom resources. Upstream: apiextensions-apiserver/pkg/registry/customresource strategy.go and
 * status_strategy.go.
 */
import { addInt64 } from '../../api/int64.ts';
import { applySchemaDefaults, type DefaultsBudget } from '../../api/codec/prune.ts';
import type { JsonObject } from '../../api/codec/own-property.ts';
import { type KubernetesObject, jsonOf } from '../../api/object.ts';
import type { StructSchema } from '../../api/schema/type-schema.ts';
import { finalizerWarnings } from './finalizer-warnings.ts';
import { type FieldCause, forbidden, type GroupResource } from '../../api/status-error.ts';
import { allSteps, type Steps } from '../../base/steps.ts';
import { deepEqual } from '../../base/equal.ts';
import { keepAllBut, SPEC_AND_METADATA } from '../registry/kind-strategy.ts';
import type { Strategy } from '../registry/resource-definition.ts';

type Custom = KubernetesObject & { status?: unknown };

/** Validates an object; `old` is what it replaces. */
export type ValidateCustom = (object: KubernetesObject, old: KubernetesObject | undefined) => Steps<FieldCause[]>;

/** The rules that the strategies of a version depend on. */
export interface CustomRules {
  /** For error texts. */
  readonly resource: GroupResource;
  readonly schema: StructSchema;
  readonly hasStatus: boolean;
  /** Whether the definition is being deleted, so that nothing new may be created. */
  readonly terminating: boolean;
  readonly validate: ValidateCustom;
}

/** Sets the schema's defaults in place. Throws 413 beyond `budget`, which has a default. */
export function defaultCustom(schema: StructSchema, draft: KubernetesObject, budget?: DefaultsBudget): void {
  const target = jsonOf(draft);
  const filled = applySchemaDefaults(schema, target, budget) as JsonObject;
  if (filled === target) return;
  for (const key of Object.keys(target)) if (!Object.hasOwn(filled, key)) delete target[key];
  Object.assign(target, filled);
}

const NO_CREATE = 'create not allowed while custom resource definition is terminating';

function withoutMetadata(object: KubernetesObject): object {
  const { metadata: _, ...rest } = object;
  return rest;
}

/** The strategy of the object itself. */
export function customStrategy(rules: CustomRules): Strategy<Custom> {
  return {
    applyDefaults: (draft) => defaultCustom(rules.schema, draft),
    prepareForCreate(draft) {
      const { name = '' } = draft.metadata;
      if (rules.terminating) throw forbidden(rules.resource, name, NO_CREATE);
      if (rules.hasStatus) delete draft.status;
      draft.metadata.generation = 1;
    },
    validate: (object) => allSteps(rules.validate(object, undefined)),
    validationSteps: rules.validate,
    prepareForUpdate(draft, old) {
      if (rules.hasStatus) {
        if (old.status === undefined) delete draft.status;
        else draft.status = old.status;
      }
      const generation = old.metadata.generation ?? 0;
      const changed = !deepEqual(withoutMetadata(draft), withoutMetadata(old));
      draft.metadata.generation = changed ? addInt64(generation, 1) : generation;
    },
    validateUpdate: (object, old) => allSteps(rules.validate(object, old)),
    warnings: finalizerWarnings,
    finalizerNames: 'qualified',
    allowCreateOnUpdate: false,
    allowUnconditionalUpdate: false,
  };
}

/** The strategy of the `status` sub-resource: everything else, metadata included, stays unchanged. */
export function customStatusStrategy(rules: CustomRules): Strategy<Custom> {
  return {
    applyDefaults: (draft) => defaultCustom(rules.schema, draft),
    validate: () => [],
    prepareForUpdate(draft, old) {
      keepAllBut(draft, old, 'status');
      const { managedFields, resourceVersion } = draft.metadata;
      draft.metadata = { ...old.metadata };
      if (managedFields === undefined) delete draft.metadata.managedFields;
      else draft.metadata.managedFields = managedFields;
      if (resourceVersion !== undefined) draft.metadata.resourceVersion = resourceVersion;
    },
    validateUpdate: (object, old) => allSteps(rules.validate(object, old)),
    validationSteps: rules.validate,
    finalizerNames: 'qualified',
    resetFields: SPEC_AND_METADATA,
    allowUnconditionalUpdate: false,
  };
}
