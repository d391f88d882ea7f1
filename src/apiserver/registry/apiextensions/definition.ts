/** Custom resource definitions themselves. Upstream: apiextensions-apiserver/pkg/registry/customresourcedefinition. */
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

/** Rules in CEL are not judged here yet, and none that would not be kept is taken. */
const checkRules: CheckSchemaRules = (schema, field) => {
  if ((schema['x-kubernetes-validations'] ?? []).length > 0)
    field.at('x-kubernetes-validations').forbidden('validation rules are not supported by this server');
  for (const [key, inner] of Object.entries(schema.properties ?? {}))
    checkRules(inner, field.at('properties').key(key));
  const { items, additionalProperties } = schema;
  if (items !== undefined && !Array.isArray(items)) checkRules(items, field.at('items'));
  if (typeof additionalProperties === 'object') checkRules(additionalProperties, field.at('additionalProperties'));
};

const rules: KindRules<CustomResourceDefinition> = {
  emptyStatus: {},
  generationOf: specOf,
  defaults: setCustomResourceDefinitionDefaults,
  validate: (definition, field) => validateCustomResourceDefinition(definition, field, checkRules),
  validateUpdate: (definition, old, field) =>
    validateCustomResourceDefinitionUpdate(definition, { old, field }, checkRules),
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

/** The definition of CustomResourceDefinitions. */
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
