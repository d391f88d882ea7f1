/** resource.k8s.io. Upstream: registry/resource. */
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
  validateResourceClaim,
  validateResourceClaimTemplate,
  validateResourceClaimTemplateUpdate,
  validateResourceClaimUpdate,
  validateResourceSlice,
} from '../../../api/validation/resource-claim.ts';
import { resourceClaimPrinter, resourceSlicePrinter } from '../cluster-tables.ts';
import { defineResource } from '../define-resource.ts';
import { specOf } from '../kind-strategy.ts';
import type { ResourceDefinition, SelectableFields } from '../resource-definition.ts';
import { claimConversion, claimTemplateConversion, sliceConversion } from './conversion.ts';

const sliceFields: SelectableFields<{ metadata: object; spec: { nodeName?: string; driver: string } }> = ({
  spec,
}) => ({
  'spec.nodeName': spec?.nodeName ?? '',
  'spec.driver': spec?.driver ?? '',
});
const sliceGeneration = { generationOf: specOf };

/** Definitions of dynamic resource allocation. */
export const dynamicResourceDefinitions: readonly ResourceDefinition[] = [
  defineResource(DeviceClasses, { rules: { generationOf: specOf } }),
  defineResource(DeviceClassesV1beta1, { rules: { generationOf: specOf } }),
  defineResource(DeviceClassesV1beta2, { rules: { generationOf: specOf } }),
  defineResource(ResourceClaims, {
    rules: {
      emptyStatus: {},
      defaults: setResourceClaimDefaults,
      validate: validateResourceClaim,
      validateUpdate: validateResourceClaimUpdate,
    },
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
  defineResource(ResourceSlices, {
    rules: { ...sliceGeneration, validate: validateResourceSlice },
    printer: resourceSlicePrinter,
    selectableFields: sliceFields,
  }),
  defineResource(ResourceSlicesV1beta1, {
    rules: sliceGeneration,
    conversion: sliceConversion,
    selectableFields: sliceFields,
  }),
  defineResource(ResourceSlicesV1beta2, {
    rules: { ...sliceGeneration, validate: validateResourceSlice },
    printer: resourceSlicePrinter,
    selectableFields: sliceFields,
  }),
  defineResource(DeviceTaintRules, { rules: { emptyStatus: {}, generationOf: specOf } }),
  defineResource(DeviceTaintRulesV1alpha3, { rules: { emptyStatus: {}, generationOf: specOf } }),
  defineResource(ResourcePoolStatusRequests, { rules: { emptyStatus: {} } }),
];
