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
import type { CheckSchemaRules } from '../../../api/validation/custom-resource-version.ts';
import type { Steps } from '../../../base/steps.ts';
import type { RequestContext } from '../../request-context.ts';
import { customResourceDefinitionPrinter } from '../cluster-tables.ts';
import { defineResource } from '../define-resource.ts';
import { type KindRules, kindStrategy, specOf } from '../kind-strategy.ts';
import type { ResourceDefinition } from '../resource-definition.ts';

/** Keeps a definition until its instances are gone. */
export const CUSTOM_RESOURCE_CLEANUP_FINALIZER = 'customresourcecleanup.apiextensions.k8s.io';

/** Rules of schemas whose definition is validated in steps. */
const compiledRules = new WeakMap<JSONSchemaProps, RuleSchema>();

const checkSchemaRules: CheckSchemaRules = (schema, field) =>
  checkRules(compiledRules.get(schema) ?? compileRuleSchema(schema), field);

const rules: KindRules<CustomResourceDefinition> = {
  emptyStatus: {},
  generationOf: specOf,
  defaults: setCustomResourceDefinitionDefaults,
  validate: (definition, field) => validateCustomResourceDefinition(definition, field, checkSchemaRules),
  validateUpdate: (definition, old, field) =>
    validateCustomResourceDefinitionUpdate(definition, { old, field }, checkSchemaRules),
  allowUnconditionalUpdate: false,
  // Versions ever stored are recorded from the start: a store that holds them must keep understanding them.
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

/** Compiles the rules of schemas that are valid otherwise, in steps, before all is validated. */
function* validationSteps(
  draft: CustomResourceDefinition,
  old: CustomResourceDefinition | undefined,
  context: RequestContext,
): Steps<FieldCause[]> {
  const found: JSONSchemaProps[] = [];
  const collect: CheckSchemaRules = (schema) => {
    found.push(schema);
  };
  if (old === undefined) validateCustomResourceDefinition(draft, Field.root(), collect);
  else validateCustomResourceDefinitionUpdate(draft, { old, field: Field.root() }, collect);
  yield;
  for (const schema of found) compiledRules.set(schema, yield* compileRuleSteps(schema));
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
    gracefulDeletionSeconds(draft) {
      const { finalizers = [] } = draft.metadata;
      if (!finalizers.includes(CUSTOM_RESOURCE_CLEANUP_FINALIZER))
        draft.metadata.finalizers = [...finalizers, CUSTOM_RESOURCE_CLEANUP_FINALIZER];
      return 0;
    },
  },
  prefix: 'apiextensions.k8s.io/customresourcedefinitions',
  printer: customResourceDefinitionPrinter,
});
