/** apps/v1. Upstream: registry/apps. */
import {
  setDaemonSetDefaults,
  setDeploymentDefaults,
  setReplicaSetDefaults,
  setStatefulSetDefaults,
} from '../../../api/defaults/apps.ts';
import type { StatefulSet } from '../../../api/gen/apps-v1.ts';
import type { LabelSelector } from '../../../api/gen/meta-v1.ts';
import { ControllerRevisions, DaemonSets, Deployments, ReplicaSets, StatefulSets } from '../../../api/gen/resources.ts';
import { nameIsDnsLabel } from '../../../api/names.ts';
import { formatLabelSelector } from '../../../api/label-selector.ts';
import type { KubernetesObject } from '../../../api/object.ts';
import {
  validateControllerRevision,
  validateControllerRevisionUpdate,
  validateDaemonSet,
  validateDaemonSetUpdate,
  validateDeployment,
  validateDeploymentUpdate,
  validateReplicaSet,
  validateReplicaSetUpdate,
} from '../../../api/validation/apps.ts';
import { validateStatefulSet, validateStatefulSetUpdate } from '../../../api/validation/stateful-set.ts';
import {
  validateDaemonSetStatus,
  validateDeploymentStatus,
  validateReplicaSetStatus,
  validateStatefulSetStatus,
} from '../../../api/validation/workload-status.ts';
import { deepEqual } from '../../../base/equal.ts';
import { TEMPLATE_GENERATION } from '../../../component-helpers/daemon-pods.ts';
import { defineResource } from '../define-resource.ts';
import { specOf } from '../kind-strategy.ts';
import type { ResourceDefinition, ScaleAccess } from '../resource-definition.ts';
import {
  controllerRevisionPrinter,
  daemonSetPrinter,
  deploymentPrinter,
  replicaSetPrinter,
  statefulSetPrinter,
} from './tables.ts';

interface Scalable extends KubernetesObject {
  spec?: { replicas?: number; selector: LabelSelector };
  status?: { replicas?: number };
}

/** Scale of workloads with `spec.replicas`, `status.replicas` and a selector object. */
function workloadScale<T extends Scalable>(): ScaleAccess<T> {
  return {
    read: ({ spec, status }) => ({
      specReplicas: spec?.replicas ?? 0,
      statusReplicas: status?.replicas ?? 0,
      selector: formatLabelSelector(spec?.selector),
    }),
    write: (draft, replicas) => {
      draft.spec = { ...draft.spec!, replicas };
    },
    replicasPath: ['spec', 'replicas'],
  };
}

const deployments = defineResource(Deployments, {
  rules: {
    emptyStatus: {},
    generationOf: (deployment) => [deployment.spec, deployment.metadata.annotations],
    defaults: setDeploymentDefaults,
    validate: validateDeployment,
    validateUpdate: validateDeploymentUpdate,
  },
  statusRules: {
    prepareForUpdate: (draft, old) => {
      draft.metadata.labels = old.metadata.labels;
    },
    validateUpdate: validateDeploymentStatus,
  },
  printer: deploymentPrinter,
  scale: workloadScale(),
});

const replicaSets = defineResource(ReplicaSets, {
  rules: {
    emptyStatus: { replicas: 0 },
    generationOf: specOf,
    defaults: setReplicaSetDefaults,
    validate: validateReplicaSet,
    validateUpdate: validateReplicaSetUpdate,
  },
  statusRules: { validateUpdate: validateReplicaSetStatus },
  printer: replicaSetPrinter,
  selectableFields: ({ status }) => ({ 'status.replicas': String(status?.replicas ?? 0) }),
  scale: workloadScale(),
});

function templateGeneration({ metadata }: KubernetesObject): number {
  return Math.max(1, Math.trunc(Number(metadata.annotations?.[TEMPLATE_GENERATION])) || 0);
}

function setTemplateGeneration({ metadata }: KubernetesObject, generation: number): void {
  metadata.annotations = { ...metadata.annotations, [TEMPLATE_GENERATION]: String(generation) };
}

const daemonSets = defineResource(DaemonSets, {
  rules: {
    emptyStatus: { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 },
    generationOf: specOf,
    defaults: setDaemonSetDefaults,
    prepareForCreate: (draft) => setTemplateGeneration(draft, templateGeneration(draft)),
    prepareForUpdate(draft, old) {
      const changed = !deepEqual(draft.spec?.template, old.spec?.template);
      setTemplateGeneration(draft, templateGeneration(old) + (changed ? 1 : 0));
    },
    validate: validateDaemonSet,
    validateUpdate: validateDaemonSetUpdate,
  },
  // Part of the spec for upstream: whoever writes the status cannot change it.
  statusRules: {
    prepareForUpdate: (draft, old) => setTemplateGeneration(draft, templateGeneration(old)),
    validateUpdate: validateDaemonSetStatus,
  },
  printer: daemonSetPrinter,
});

/** The gate MaxUnavailableStatefulSet is off in v1.36: the field goes, unless the stored object has it. */
function dropMaxUnavailable({ spec }: StatefulSet, old?: StatefulSet): void {
  const { rollingUpdate } = spec?.updateStrategy ?? {};
  if (old?.spec?.updateStrategy?.rollingUpdate?.maxUnavailable === undefined) delete rollingUpdate?.maxUnavailable;
}

const statefulSets = defineResource(StatefulSets, {
  rules: {
    emptyStatus: { replicas: 0, availableReplicas: 0 },
    generationOf: specOf,
    defaults: setStatefulSetDefaults,
    // Names of pods are made of it.
    validateName: nameIsDnsLabel,
    prepareForCreate: (draft) => dropMaxUnavailable(draft),
    prepareForUpdate: (draft, old) => dropMaxUnavailable(draft, old),
    validate: validateStatefulSet,
    validateUpdate: validateStatefulSetUpdate,
  },
  statusRules: { validateUpdate: validateStatefulSetStatus },
  printer: statefulSetPrinter,
  scale: workloadScale(),
});

export const appsDefinitions: readonly ResourceDefinition[] = [
  deployments,
  replicaSets,
  daemonSets,
  statefulSets,
  defineResource(ControllerRevisions, {
    rules: { validate: validateControllerRevision, validateUpdate: validateControllerRevisionUpdate },
    printer: controllerRevisionPrinter,
  }),
];
