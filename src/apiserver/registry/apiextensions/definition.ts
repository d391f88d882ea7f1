/** Custom resource definitions themselves. Upstream: apiextensions-apiserver/pkg/registry/customresourcedefinition. */
import { checkRules } from '../../../api/cel/rules/check-rules.ts';
import { compileRuleSchema, compileRuleSteps, type RuleSchema } from '../../../api/cel/rules/rule-schema.ts';
import { setCustomResourceDefinitionDefaults } from '../../../api/defaults/cluster.ts';
import { Field } from '../../../api/field-error.ts';
import type { CustomResourceDefinition, JSONSchemaProps } from '../../../api/gen/apiextensions-v1.ts';
import { CustomResourceDefinitions } from '../../../api/gen/resources.ts';
import type { FieldCause } from '../../../api/status-error.ts';
import {
  validateCustomResourceDefinition,
  validateCustomResourceDefinitionStatus,
  validateCustomResourceDefinitionUpdate,
} from '../../../api/validation/custom-resource-definition.ts';
import type { SchemaRules } from '../../../api/validation/custom-resource-version.ts';
import { defaultRuleSteps } from '../../../api/validation/schema-defaults.ts';
import { appendAll } from '../../../base/lists.ts';
import { allSteps, type Steps } from '../../../base/steps.ts';
import { unknownFormatWarnings } from '../../../api/warnings/schema-formats.ts';
import type { RequestContext } from '../../request-context.ts';
import { createdPrinter } from '../printing.ts';
import { defineResource } from '../define-resource.ts';
import { type KindRules, kindStrategy, specOf } from '../kind-strategy.ts';
import type { ResourceDefinition } from '../resource-definition.ts';

/** Keeps a definition until its instances are gone. */
export const CUSTOM_RESOURCE_CLEANUP_FINALIZER = 'customresourcecleanup.apiextensions.k8s.io';

/** What steps prepared for a schema while its definition is validated. */
interface Prepared {
  readonly rules: RuleSchema;
  /** The errors of defaults that break rules. */
  readonly faults: readonly FieldCause[];
}

const prepared = new WeakMap<JSONSchemaProps, Prepared>();

function* prepare(schema: JSONSchemaProps, path: string): Steps<Prepared> {
  const compiled = yield* compileRuleSteps(schema);
  const field = Field.named(path);
  yield* defaultRuleSteps(compiled, field);
  return { rules: compiled, faults: field.errors };
}

const schemaRules: SchemaRules = {
  checkDefaults(schema, field) {
    const { faults } = prepared.get(schema) ?? allSteps(prepare(schema, field.path));
    appendAll(field.errors, faults);
  },
  checkRules: (schema, field, faults) =>
    checkRules(prepared.get(schema)?.rules ?? compileRuleSchema(schema), field, faults),
};

const rules: KindRules<CustomResourceDefinition> = {
  emptyStatus: {},
  generationOf: specOf,
  warnings: (definition, old) => unknownFormatWarnings(definition, old),
  defaults: setCustomResourceDefinitionDefaults,
  validate: (definition, field) => validateCustomResourceDefinition(definition, field, schemaRules),
  validateUpdate: (definition, old, field) =>
    validateCustomResourceDefinitionUpdate(definition, { old, field }, schemaRules),
  allowUnconditionalUpdate: false,
  // Stored versions are recorded from the start, since a store that holds them must stay readable.
  prepareForCreate(draft) {
    draft.status = {
      conditions: [],
      acceptedNames: { plural: '', kind: '' },
      storedVersions: draft.spec.versions.filter((version) => version.storage).map((version) => version.name),
    };
  },
  prepareForUpdate(draft) {
    const storedVersions = new Set(draft.status?.storedVersions ?? []);
    for (const version of draft.spec.versions) if (version.storage) storedVersions.add(version.name);
    draft.status = { ...draft.status, storedVersions: [...storedVersions] };
  },
};

/** Compiles the rules of otherwise valid schemas and runs them on defaults, in steps, before the whole is validated. */
function* validationSteps(
  draft: CustomResourceDefinition,
  old: CustomResourceDefinition | undefined,
  context: RequestContext,
): Steps<FieldCause[]> {
  const found: (readonly [JSONSchemaProps, string])[] = [];
  const collect: SchemaRules = {
    checkDefaults(schema, { path }) {
      found.push([schema, path]);
    },
    checkRules: () => undefined,
  };
  if (old === undefined) validateCustomResourceDefinition(draft, Field.root(), collect);
  else validateCustomResourceDefinitionUpdate(draft, { old, field: Field.root() }, collect);
  yield;
  for (const [schema, path] of found) prepared.set(schema, yield* prepare(schema, path));
  return old === undefined ? strategy.validate(draft, context) : strategy.validateUpdate(draft, old, context);
}

const strategy = kindStrategy(rules);

export const customResourceDefinitionDefinition: ResourceDefinition = defineResource(CustomResourceDefinitions, {
  rules,
  statusRules: {
    validateUpdate: (definition, _old, field) => validateCustomResourceDefinitionStatus(definition, field),
  },
  strategy: {
    ...strategy,
    validationSteps,
    deletesWithoutPeriod: true,
    gracefulDeletionSeconds(draft) {
      const { finalizers = [] } = draft.metadata;
      if (!finalizers.includes(CUSTOM_RESOURCE_CLEANUP_FINALIZER))
        draft.metadata.finalizers = [...finalizers, CUSTOM_RESOURCE_CLEANUP_FINALIZER];
      return 0;
    },
  },
  prefix: 'apiextensions.k8s.io/customresourcedefinitions',
  printer: createdPrinter,
});
