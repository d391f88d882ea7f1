/** scheduling.k8s.io. Upstream: registry/scheduling. */
import { setPriorityClassDefaults } from '../../../api/defaults/cluster.ts';
import { PodGroups, PriorityClasses, Workloads } from '../../../api/gen/resources.ts';
import type { PodGroup, Workload } from '../../../api/gen/scheduling-v1alpha2.ts';
import { validatePriorityClass, validatePriorityClassUpdate } from '../../../api/validation/cluster-small.ts';
import {
  dropGatedFields,
  validatePodGroup,
  validatePodGroupStatus,
  validateWorkload,
} from '../../../api/validation/pod-group.ts';
import { priorityClassPrinter } from '../cluster-tables.ts';
import { defineResource } from '../define-resource.ts';
import type { KindRules, StatusRules } from '../kind-strategy.ts';
import type { ResourceDefinition } from '../resource-definition.ts';
import { podGroupPrinter } from './tables.ts';

const workloadRules: KindRules<Workload> = {
  prepareForCreate: dropGatedTemplateFields,
  prepareForUpdate: dropGatedTemplateFields,
  validate: validateWorkload,
  validateUpdate: (workload, old, field) => validateWorkload(workload, field, old),
};

function dropGatedTemplateFields({ spec }: Workload): void {
  for (const template of spec?.podGroupTemplates ?? []) dropGatedFields(template);
}

const podGroupRules: KindRules<PodGroup> = {
  emptyStatus: {},
  prepareForCreate: dropGatedGroupFields,
  prepareForUpdate: dropGatedGroupFields,
  validate: validatePodGroup,
  validateUpdate: (group, old, field) => validatePodGroup(group, field, old),
};

function dropGatedGroupFields({ spec }: PodGroup): void {
  if (spec !== undefined) dropGatedFields(spec);
}

const podGroupStatusRules: StatusRules<PodGroup> = {
  keepsMetadata: true,
  prepareForUpdate: ({ status }) => {
    delete status?.resourceClaimStatuses;
  },
  validateUpdate: (group, _old, field) => validatePodGroupStatus(group, field),
};

export const schedulingDefinitions: readonly ResourceDefinition[] = [
  defineResource(PriorityClasses, {
    rules: {
      generationOf: () => undefined,
      defaults: setPriorityClassDefaults,
      validate: validatePriorityClass,
      validateUpdate: validatePriorityClassUpdate,
    },
    printer: priorityClassPrinter,
  }),
  defineResource(PodGroups, { rules: podGroupRules, statusRules: podGroupStatusRules, printer: podGroupPrinter }),
  defineResource(Workloads, { rules: workloadRules }),
];
