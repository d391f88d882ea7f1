/** resource.k8s.io. Upstream: registry/resource. */
import type { ResourceClaim } from '../../../api/gen/resource-v1.ts';
import { setResourceClaimDefaults, setResourceClaimTemplateDefaults } from '../../../api/defaults/cluster.ts';
import {
  DeviceClasses,
  DeviceClassesV1beta1,
  DeviceClassesV1beta2,
  DeviceTaintRules,
  DeviceTaintRulesV1alpha3,
  ResourceClaims,
  ResourceClaimsV1beta1,
  ResourceClaimsV1beta2,
  ResourceClaimTemplates,
  ResourceClaimTemplatesV1beta1,
  ResourceClaimTemplatesV1beta2,
  ResourcePoolStatusRequests,
  ResourceSlices,
  ResourceSlicesV1beta1,
  ResourceSlicesV1beta2,
} from '../../../api/gen/resources.ts';
import {
  validateDeviceClass,
  validateResourceClaim,
  validateResourceClaimTemplate,
  validateResourceClaimTemplateUpdate,
  validateResourceClaimUpdate,
  validateResourceSlice,
  validateResourceSliceUpdate,
} from '../../../api/validation/resource-claim.ts';
import {
  dropStatusOfReturnedDevices,
  validateResourceClaimStatusUpdate,
} from '../../../api/validation/resource-claim-status.ts';
import type { Clock } from '../../../platform/clock.ts';
import { resourceClaimPrinter, resourceSlicePrinter } from '../cluster-tables.ts';
import { defineResource } from '../define-resource.ts';
import { specOf, type StatusRules } from '../kind-strategy.ts';
import type { ResourceDefinition, SelectableFields } from '../resource-definition.ts';
import type { RegistryServices } from '../services.ts';
import { claimConversion, claimTemplateConversion, sliceConversion } from './conversion.ts';
import { sliceTaintRules, taintRuleRules } from './device-taints.ts';

const sliceFields: SelectableFields<{ metadata: object; spec: { nodeName?: string; driver: string } }> = ({
  spec,
}) => ({
  'spec.nodeName': spec?.nodeName ?? '',
  'spec.driver': spec?.driver ?? '',
});

/** Definitions of dynamic resource allocation. */
export function dynamicResourceDefinitions({ platform }: Pick<RegistryServices, 'platform'>): ResourceDefinition[] {
  return [...claimDefinitions, ...deviceDefinitions(platform.clock)];
}

const claimStatusRules: StatusRules<ResourceClaim> = {
  prepareForUpdate: dropStatusOfReturnedDevices,
  validateUpdate: validateResourceClaimStatusUpdate,
};

const claimDefinitions: readonly ResourceDefinition[] = [
  defineResource(DeviceClasses, { rules: { generationOf: specOf, validate: validateDeviceClass } }),
  defineResource(DeviceClassesV1beta1, { rules: { generationOf: specOf, validate: validateDeviceClass } }),
  defineResource(DeviceClassesV1beta2, { rules: { generationOf: specOf, validate: validateDeviceClass } }),
  defineResource(ResourceClaims, {
    rules: {
      emptyStatus: {},
      defaults: setResourceClaimDefaults,
      validate: validateResourceClaim,
      validateUpdate: validateResourceClaimUpdate,
    },
    statusRules: claimStatusRules,
    printer: resourceClaimPrinter,
  }),
  defineResource(ResourceClaimsV1beta1, { rules: { emptyStatus: {} }, conversion: claimConversion }),
  defineResource(ResourceClaimsV1beta2, {
    rules: {
      emptyStatus: {},
      defaults: setResourceClaimDefaults,
      validate: validateResourceClaim,
      validateUpdate: validateResourceClaimUpdate,
    },
    statusRules: claimStatusRules,
    printer: resourceClaimPrinter,
  }),
  defineResource(ResourceClaimTemplates, {
    rules: {
      defaults: setResourceClaimTemplateDefaults,
      validate: validateResourceClaimTemplate,
      validateUpdate: validateResourceClaimTemplateUpdate,
    },
  }),
  defineResource(ResourceClaimTemplatesV1beta1, { conversion: claimTemplateConversion }),
  defineResource(ResourceClaimTemplatesV1beta2, {
    rules: {
      defaults: setResourceClaimTemplateDefaults,
      validate: validateResourceClaimTemplate,
      validateUpdate: validateResourceClaimTemplateUpdate,
    },
  }),
];

function deviceDefinitions(clock: Clock): ResourceDefinition[] {
  const sliceRules = { generationOf: specOf, ...sliceTaintRules(clock) };
  const ruleRules = { emptyStatus: {}, generationOf: specOf, ...taintRuleRules(clock) };
  return [
    defineResource(ResourceSlices, {
      rules: { ...sliceRules, validate: validateResourceSlice, validateUpdate: validateResourceSliceUpdate },
      printer: resourceSlicePrinter,
      selectableFields: sliceFields,
    }),
    defineResource(ResourceSlicesV1beta1, {
      rules: sliceRules,
      conversion: sliceConversion,
      selectableFields: sliceFields,
    }),
    defineResource(ResourceSlicesV1beta2, {
      rules: { ...sliceRules, validate: validateResourceSlice, validateUpdate: validateResourceSliceUpdate },
      printer: resourceSlicePrinter,
      selectableFields: sliceFields,
    }),
    defineResource(DeviceTaintRules, { rules: ruleRules }),
    defineResource(DeviceTaintRulesV1alpha3, { rules: ruleRules }),
    defineResource(ResourcePoolStatusRequests, { rules: { emptyStatus: {} } }),
  ];
}
