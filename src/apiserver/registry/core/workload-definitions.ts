/** Pod templates and replication controllers. */
import { setReplicationControllerDefaults } from '../../../api/defaults/core.ts';
import { setPodTemplateDefaults } from '../../../api/defaults/pod.ts';
import { compileLabelMap } from '../../../api/label-selector.ts';
import { validateReplicationController } from '../../../api/validation/apps.ts';
import { validatePodTemplate } from '../../../api/validation/core-small.ts';
import { validateReplicaSetStatus } from '../../../api/validation/workload-status.ts';
import { podTemplateObjectWarnings, workloadWarnings } from '../../../api/warnings/workloads.ts';
import { PodTemplates, ReplicationControllers } from '../../../api/gen/resources.ts';
import { defineResource } from '../define-resource.ts';
import { specOf } from '../kind-strategy.ts';
import type { ResourceDefinition } from '../resource-definition.ts';
import { podTemplatePrinter, replicationControllerPrinter } from './tables.ts';

export function workloadDefinitions(): ResourceDefinition[] {
  return [
    defineResource(PodTemplates, {
      rules: {
        defaults: setPodTemplateDefaults,
        validate: validatePodTemplate,
        generationOf: ({ template }) => template,
        warnings: podTemplateObjectWarnings,
      },
      printer: podTemplatePrinter,
    }),
    defineResource(ReplicationControllers, {
      rules: {
        emptyStatus: { replicas: 0 },
        generationOf: specOf,
        defaults: setReplicationControllerDefaults,
        validate: validateReplicationController,
        warnings: workloadWarnings,
      },
      statusRules: { validateUpdate: validateReplicaSetStatus },
      prefix: 'controllers',
      printer: replicationControllerPrinter,
      defaultPropagation: 'Orphan',
      selectableFields: ({ status }) => ({ 'status.replicas': String(status?.replicas ?? 0) }),
      scale: {
        read: ({ spec, status }) => ({
          specReplicas: spec?.replicas ?? 0,
          statusReplicas: status?.replicas ?? 0,
          selector: compileLabelMap(spec?.selector).toString(),
        }),
        write: (draft, replicas) => {
          draft.spec = { ...draft.spec, replicas };
        },
        replicasPath: ['spec', 'replicas'],
      },
    }),
  ];
}
