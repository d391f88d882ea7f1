/** Small groups: admissionregistration, apiextensions, apiregistration, coordination, flowcontrol, node and policy. */
import {
  setAdmissionPolicyBindingDefaults,
  setMutatingAdmissionPolicyDefaults,
  setMutatingWebhookConfigurationDefaults,
  setValidatingAdmissionPolicyDefaults,
  setValidatingWebhookConfigurationDefaults,
} from '../../api/defaults/admission.ts';
import { setAPIServiceDefaults, setFlowSchemaDefaults, setPriorityLevelDefaults } from '../../api/defaults/cluster.ts';
import type {
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
} from '../../api/gen/admissionregistration-v1.ts';
import type { LeaseCandidate } from '../../api/gen/coordination-v1beta1.ts';
import {
  APIServices,
  FlowSchemas,
  LeaseCandidates,
  LeaseCandidatesV1alpha2,
  Leases,
  MutatingAdmissionPolicies,
  MutatingAdmissionPoliciesV1alpha1,
  MutatingAdmissionPoliciesV1beta1,
  MutatingAdmissionPolicyBindings,
  MutatingAdmissionPolicyBindingsV1alpha1,
  MutatingAdmissionPolicyBindingsV1beta1,
  MutatingWebhookConfigurations,
  PodDisruptionBudgets,
  PriorityLevelConfigurations,
  RuntimeClasses,
  ValidatingAdmissionPolicies,
  ValidatingAdmissionPolicyBindings,
  ValidatingWebhookConfigurations,
} from '../../api/gen/resources.ts';
import { nameIsPathSegment } from '../../api/name-checks.ts';
import {
  validateAdmissionPolicyBinding,
  validateMutatingAdmissionPolicyBinding,
} from '../../api/validation/admission-bindings.ts';
import {
  validateMutatingAdmissionPolicy,
  validateValidatingAdmissionPolicy,
} from '../../api/validation/admission-policies.ts';
import {
  validateMutatingWebhookConfiguration,
  validateValidatingWebhookConfiguration,
} from '../../api/validation/admission-webhooks.ts';
import { validateAPIService, validateAPIServiceStatus } from '../../api/validation/extensions.ts';
import { validateFlowSchema, validateFlowStatus } from '../../api/validation/flow-schema.ts';
import { validatePriorityLevel } from '../../api/validation/priority-level.ts';
import { runtimeClassWarnings } from '../../api/warnings/small-kinds.ts';
import { mandatoryFlowSchema, mandatoryPriorityLevel } from '../bootstrap/objects.ts';
import {
  nameOfCandidate,
  validateLease,
  validateLeaseCandidate,
  validateLeaseCandidateUpdate,
} from '../../api/validation/coordination.ts';
import {
  validatePodDisruptionBudget,
  validatePodDisruptionBudgetStatus,
  validateRuntimeClass,
  validateRuntimeClassUpdate,
} from '../../api/validation/cluster-small.ts';
import { customResourceDefinitionDefinition } from './apiextensions/definition.ts';
import {
  admissionPolicyBindingPrinter,
  mutatingAdmissionPolicyPrinter,
  validatingAdmissionPolicyPrinter,
  webhookConfigurationPrinter,
} from './admission-tables.ts';
import {
  apiServicePrinter,
  flowSchemaPrinter,
  leaseCandidatePrinter,
  leasePrinter,
  podDisruptionBudgetPrinter,
  priorityLevelPrinter,
  runtimeClassPrinter,
} from './cluster-tables.ts';
import { defineResource } from './define-resource.ts';
import { specOf, type KindRules } from './kind-strategy.ts';
import type { ResourceDefinition } from './resource-definition.ts';

const mutatingPolicy: KindRules<MutatingAdmissionPolicy> = {
  generationOf: specOf,
  defaults: setMutatingAdmissionPolicyDefaults,
  validate: validateMutatingAdmissionPolicy,
  allowUnconditionalUpdate: false,
};
const mutatingBinding: KindRules<MutatingAdmissionPolicyBinding> = {
  generationOf: specOf,
  defaults: setAdmissionPolicyBindingDefaults,
  validate: validateMutatingAdmissionPolicyBinding,
  allowUnconditionalUpdate: false,
};

const admissionDefinitions: readonly ResourceDefinition[] = [
  defineResource(ValidatingWebhookConfigurations, {
    rules: {
      generationOf: ({ webhooks }) => webhooks,
      defaults: setValidatingWebhookConfigurationDefaults,
      validate: validateValidatingWebhookConfiguration,
      allowUnconditionalUpdate: false,
    },
    printer: webhookConfigurationPrinter,
  }),
  defineResource(MutatingWebhookConfigurations, {
    rules: {
      generationOf: ({ webhooks }) => webhooks,
      defaults: setMutatingWebhookConfigurationDefaults,
      validate: validateMutatingWebhookConfiguration,
      allowUnconditionalUpdate: false,
    },
    printer: webhookConfigurationPrinter,
  }),
  defineResource(ValidatingAdmissionPolicies, {
    rules: {
      emptyStatus: {},
      generationOf: specOf,
      defaults: setValidatingAdmissionPolicyDefaults,
      validate: validateValidatingAdmissionPolicy,
      allowUnconditionalUpdate: false,
    },
    statusRules: { keepsMetadata: true },
    printer: validatingAdmissionPolicyPrinter,
  }),
  defineResource(ValidatingAdmissionPolicyBindings, {
    rules: {
      generationOf: specOf,
      defaults: setAdmissionPolicyBindingDefaults,
      validate: validateAdmissionPolicyBinding,
      allowUnconditionalUpdate: false,
    },
    printer: admissionPolicyBindingPrinter,
  }),
  defineResource(MutatingAdmissionPolicies, { rules: mutatingPolicy, printer: mutatingAdmissionPolicyPrinter }),
  defineResource(MutatingAdmissionPolicyBindings, { rules: mutatingBinding, printer: admissionPolicyBindingPrinter }),
  defineResource(MutatingAdmissionPoliciesV1alpha1, { rules: mutatingPolicy, printer: mutatingAdmissionPolicyPrinter }),
  defineResource(MutatingAdmissionPolicyBindingsV1alpha1, {
    rules: mutatingBinding,
    printer: admissionPolicyBindingPrinter,
  }),
  defineResource(MutatingAdmissionPoliciesV1beta1, { rules: mutatingPolicy, printer: mutatingAdmissionPolicyPrinter }),
  defineResource(MutatingAdmissionPolicyBindingsV1beta1, {
    rules: mutatingBinding,
    printer: admissionPolicyBindingPrinter,
  }),
];

const extensionDefinitions: readonly ResourceDefinition[] = [
  customResourceDefinitionDefinition,
  defineResource(APIServices, {
    rules: {
      emptyStatus: {},
      defaults: setAPIServiceDefaults,
      validate: validateAPIService,
      validateName: nameIsPathSegment,
      allowUnconditionalUpdate: false,
    },
    statusRules: {
      keepsMetadata: true,
      validateUpdate: (service, _, field) => validateAPIServiceStatus(service, field),
    },
    prefix: 'apiregistration.k8s.io/apiservices',
    printer: apiServicePrinter,
  }),
];

const candidateRules: KindRules<LeaseCandidate> = {
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: false,
  validateName: nameOfCandidate,
  validate: validateLeaseCandidate,
  validateUpdate: validateLeaseCandidateUpdate,
};

/** Definitions of the small groups. */
export const clusterDefinitions: readonly ResourceDefinition[] = [
  ...admissionDefinitions,
  ...extensionDefinitions,
  defineResource(Leases, {
    rules: {
      allowCreateOnUpdate: true,
      allowUnconditionalUpdate: false,
      // Fields of a disabled feature gate (CoordinatedLeaderElection).
      prepareForCreate: ({ spec }) => {
        delete spec?.strategy;
        delete spec?.preferredHolder;
      },
      prepareForUpdate: ({ spec }, old) => {
        if (old.spec?.strategy === undefined) delete spec?.strategy;
        if (old.spec?.preferredHolder === undefined) delete spec?.preferredHolder;
      },
      validate: validateLease,
    },
    printer: leasePrinter,
    renewedField: 'renewTime',
  }),
  defineResource(LeaseCandidates, { rules: candidateRules, printer: leaseCandidatePrinter }),
  defineResource(LeaseCandidatesV1alpha2, { rules: candidateRules, printer: leaseCandidatePrinter }),
  defineResource(FlowSchemas, {
    rules: {
      emptyStatus: {},
      generationOf: specOf,
      defaults: setFlowSchemaDefaults,
      validate: (schema, field) => validateFlowSchema(schema, field, mandatoryFlowSchema(schema.metadata.name)),
    },
    statusRules: { keepsMetadata: true, validateUpdate: (schema, _, field) => validateFlowStatus(schema, field) },
    printer: flowSchemaPrinter,
  }),
  defineResource(PriorityLevelConfigurations, {
    rules: {
      emptyStatus: {},
      generationOf: specOf,
      defaults: setPriorityLevelDefaults,
      validate: (level, field) => validatePriorityLevel(level, field, mandatoryPriorityLevel(level.metadata.name)),
    },
    statusRules: { keepsMetadata: true, validateUpdate: (level, _, field) => validateFlowStatus(level, field) },
    printer: priorityLevelPrinter,
  }),
  defineResource(RuntimeClasses, {
    rules: {
      allowCreateOnUpdate: true,
      allowUnconditionalUpdate: false,
      validate: validateRuntimeClass,
      validateUpdate: validateRuntimeClassUpdate,
      warnings: runtimeClassWarnings,
    },
    printer: runtimeClassPrinter,
  }),
  defineResource(PodDisruptionBudgets, {
    rules: {
      emptyStatus: { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 },
      generationOf: specOf,
      // Upstream checks nothing else.
      validateName: nameIsPathSegment,
      validate: validatePodDisruptionBudget,
      allowUnconditionalUpdate: false,
    },
    statusRules: { validateUpdate: (budget, _, field) => validatePodDisruptionBudgetStatus(budget, field) },
    printer: podDisruptionBudgetPrinter,
  }),
];
