/** resource.k8s.io. Upstream: registry/resource. */
import { setResourceClaimDefaults, setResourceClaimTemplateDefaults } from '../../../api/defaults/cluster.ts';
import type { DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice } from '../../../api/gen/resource-v1.ts';
import type { ResourcePoolStatusRequest } from '../../../api/gen/resource-v1alpha3.ts';
import type { DeviceTaintRule } from '../../../api/gen/resource-v1beta2.ts';
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
import { nameIsLongName } from '../../../api/name-checks.ts';
import type { KubernetesObject } from '../../../api/object.ts';
import type { ResourceInfo } from '../../../api/resource-info.ts';
import { validateDeviceTaintRule, validateDeviceTaintRuleStatus } from '../../../api/validation/device-taint-rule.ts';
import {
  dropStatusOfReturnedDevices,
  validateResourceClaimStatusUpdate,
} from '../../../api/validation/resource-claim-status.ts';
import {
  prepareDeviceClass,
  prepareResourceClaim,
  prepareResourceClaimTemplate,
  validateDeviceClass,
  validateResourceClaim,
  validateResourceClaimTemplate,
  validateResourceClaimTemplateUpdate,
  validateResourceClaimUpdate,
} from '../../../api/validation/resource-claim.ts';
import {
  setResourcePoolStatusRequestDefaults,
  validateResourcePoolStatus,
  validateResourcePoolStatusRequest,
} from '../../../api/validation/resource-pool-status.ts';
import { validateResourceSlice } from '../../../api/validation/resource-slice.ts';
import { resourceSliceWarnings } from '../../../api/warnings/small-kinds.ts';
import type { Clock } from '../../../platform/clock.ts';
import { resourceClaimPrinter, resourceSlicePrinter } from '../cluster-tables.ts';
import type { RequestContext } from '../../request-context.ts';
import { defineResource } from '../define-resource.ts';
import { keepStatus, type KindRules, specOf, type StatusRules } from '../kind-strategy.ts';
import type { Printer, ResourceDefinition, SelectableFields } from '../resource-definition.ts';
import type { RegistryServices } from '../services.ts';
import { claimConversion, claimTemplateConversion, sliceConversion } from './conversion.ts';
import { convertedRules, convertedStatusRules } from './converted-rules.ts';
import { deviceTaintRulePrinter, resourcePoolStatusRequestPrinter } from './tables.ts';
import { sliceTaintRules, taintRuleRules } from './device-taints.ts';
import { dropGatedDeviceFields } from './gated-device-fields.ts';

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

const classRules: KindRules<DeviceClass> = {
  generationOf: specOf,
  validateName: nameIsLongName,
  prepareValidation: prepareDeviceClass,
  validate: validateDeviceClass,
  validateUpdate: (deviceClass, old, field) => validateDeviceClass(deviceClass, field, old),
};

const claimStatusRules: StatusRules<ResourceClaim> = {
  keepsMetadata: true,
  prepareForUpdate: dropStatusOfReturnedDevices,
  validateUpdate: validateResourceClaimStatusUpdate,
};

const claimRules: KindRules<ResourceClaim> = {
  emptyStatus: {},
  defaults: setResourceClaimDefaults,
  prepareValidation: prepareResourceClaim,
  validate: validateResourceClaim,
  validateUpdate: validateResourceClaimUpdate,
};

const poolStatusRules: KindRules<ResourcePoolStatusRequest> = {
  defaults: setResourcePoolStatusRequestDefaults,
  prepareForCreate(draft) {
    delete draft.status;
  },
  prepareForUpdate: keepStatus,
  validate: validateResourcePoolStatusRequest,
  validateUpdate: (request, old, field) => validateResourcePoolStatusRequest(request, field, old),
  allowUnconditionalUpdate: false,
};

const poolStatusStatusRules: StatusRules<ResourcePoolStatusRequest> = {
  keepsMetadata: true,
  validateUpdate: validateResourcePoolStatus,
};

const templateRules: KindRules<ResourceClaimTemplate> = {
  defaults: setResourceClaimTemplateDefaults,
  prepareValidation: prepareResourceClaimTemplate,
  validate: validateResourceClaimTemplate,
  validateUpdate: validateResourceClaimTemplateUpdate,
};

const claimDefinitions: readonly ResourceDefinition[] = [
  defineResource(DeviceClasses, { rules: classRules }),
  defineResource(DeviceClassesV1beta1, { rules: classRules }),
  defineResource(DeviceClassesV1beta2, { rules: classRules }),
  defineResource(ResourceClaims, {
    rules: claimRules,
    statusRules: claimStatusRules,
    printer: resourceClaimPrinter,
  }),
  defineResource(ResourceClaimsV1beta1 as ResourceInfo<KubernetesObject>, {
    rules: convertedRules(claimRules, claimConversion),
    statusRules: convertedStatusRules(claimStatusRules, claimConversion),
    printer: resourceClaimPrinter as Printer<KubernetesObject>,
    conversion: claimConversion,
  }),
  defineResource(ResourceClaimsV1beta2, {
    rules: claimRules,
    statusRules: claimStatusRules,
    printer: resourceClaimPrinter,
  }),
  defineResource(ResourceClaimTemplates, { rules: templateRules }),
  defineResource(ResourceClaimTemplatesV1beta1 as ResourceInfo<KubernetesObject>, {
    rules: convertedRules(templateRules, claimTemplateConversion),
    conversion: claimTemplateConversion,
  }),
  defineResource(ResourceClaimTemplatesV1beta2, { rules: templateRules }),
];

function deviceDefinitions(clock: Clock): ResourceDefinition[] {
  const stamps = sliceTaintRules(clock);
  const prepare = (draft: KubernetesObject, context: RequestContext, old?: KubernetesObject): void => {
    dropGatedDeviceFields(draft, old);
    stamps.prepareForCreate?.(draft, context);
  };
  const sliceRules = {
    generationOf: specOf,
    warnings: resourceSliceWarnings,
    prepareForCreate: prepare,
    prepareForUpdate: (draft: KubernetesObject, old: KubernetesObject, context: RequestContext): void =>
      prepare(draft, context, old),
  };
  const checkedSliceRules: KindRules<ResourceSlice> = {
    ...sliceRules,
    validate: validateResourceSlice,
    validateUpdate: (slice, old, field) => validateResourceSlice(slice, field, old),
  };
  const ruleRules = {
    emptyStatus: {},
    generationOf: specOf,
    ...taintRuleRules(clock),
    validate: validateDeviceTaintRule,
  };
  const ruleStatusRules: StatusRules<DeviceTaintRule> = {
    keepsMetadata: true,
    validateUpdate: (rule, _old, field) => validateDeviceTaintRuleStatus(rule, field),
  };
  return [
    defineResource(ResourceSlices, {
      rules: checkedSliceRules,
      printer: resourceSlicePrinter,
      selectableFields: sliceFields,
    }),
    defineResource(ResourceSlicesV1beta1 as ResourceInfo<KubernetesObject>, {
      rules: { ...convertedRules(checkedSliceRules, sliceConversion), ...sliceRules },
      printer: resourceSlicePrinter as Printer<KubernetesObject>,
      conversion: sliceConversion,
      selectableFields: sliceFields as SelectableFields<KubernetesObject>,
    }),
    defineResource(ResourceSlicesV1beta2, {
      rules: checkedSliceRules,
      printer: resourceSlicePrinter,
      selectableFields: sliceFields,
    }),
    defineResource(DeviceTaintRules, {
      rules: ruleRules,
      statusRules: ruleStatusRules,
      printer: deviceTaintRulePrinter,
    }),
    defineResource(DeviceTaintRulesV1alpha3, {
      rules: ruleRules,
      statusRules: ruleStatusRules,
      printer: deviceTaintRulePrinter,
    }),
    defineResource(ResourcePoolStatusRequests, {
      rules: poolStatusRules,
      statusRules: poolStatusStatusRules,
      printer: resourcePoolStatusRequestPrinter,
    }),
  ];
}
