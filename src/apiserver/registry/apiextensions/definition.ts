/** Custom resource definitions themselves. Upstream: apiextensions-apiserver/pkg/registry/customresourcedefinition. */
import { checkRules } from '../../../api/cel/rules/check-rules.ts';
import { compileRuleSchema } from '../../../api/cel/rules/rule-schema.ts';
import { setCustomResourceDefinitionDefaults } from '../../../api/defaults/cluster.ts';
import type { CustomResourceDefinition } from '../../../api/gen/apiextensions-v1.ts';
import { CustomResourceDefinitions } from '../../../api/gen/resources.ts';
import {
  type CheckSchemaRules,
  validateCustomResourceDefinition,
  validateCustomResourceDefinitionStatus,
  validateCustomResourceDefinitionUpdate,
} from '../../../api/validation/custom-resource-definition.ts';
import { customResourceDefinitionPrinter } from '../cluster-tables.ts';
import { defineResource } from '../define-resource.ts';
import { type KindRules, kindStrategy, specOf } from '../kind-strategy.ts';
import type { ResourceDefinition } from '../resource-definition.ts';

/** Keeps a definition until its instances are gone. */
export const CUSTOM_RESOURCE_CLEANUP_FINALIZER = 'customresourcecleanup.apiextensions.k8s.io';

const checkSchemaRules: CheckSchemaRules = (schema, field) => checkRules(compileRuleSchema(schema), field);

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

export const customResourceDefinitionDefinition: ResourceDefinition = defineResource(CustomResourceDefinitions, {
  rules,
  statusRules: {
    validateUpdate: (definition, _old, field) => validateCustomResourceDefinitionStatus(definition, field),
  },
  strategy: {
    ...kindStrategy(rules),
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
