/** apps/v1. Upstream: registry/apps. */
import {
  setDaemonSetDefaults,
  setDeploymentDefaults,
  setReplicaSetDefaults,
  setStatefulSetDefaults,
  TEMPLATE_GENERATION,
} from '../../../api/defaults/apps.ts';
import type { StatefulSet } from '../../../api/gen/apps-v1.ts';
import type { LabelSelector } from '../../../api/gen/meta-v1.ts';
import { ControllerRevisions, DaemonSets, Deployments, ReplicaSets, StatefulSets } from '../../../api/gen/resources.ts';
import { leaf } from '../../../api/managed-fields/field-set.ts';
import { nameIsDnsLabel } from '../../../api/name-checks.ts';
import { formatLabelSelector } from '../../../api/label-selector.ts';
import type { KubernetesObject } from '../../../api/object.ts';
import {
  validateDeployment,
  validateDeploymentUpdate,
  validateReplicaSet,
  validateReplicaSetUpdate,
} from '../../../api/validation/apps.ts';
import {
  validateControllerRevision,
  validateControllerRevisionUpdate,
} from '../../../api/validation/controller-revision.ts';
import { validateDaemonSet, validateDaemonSetUpdate } from '../../../api/validation/daemon-set.ts';
import { validateStatefulSet, validateStatefulSetUpdate } from '../../../api/validation/stateful-set.ts';
import {
  validateDaemonSetStatus,
  validateDeploymentStatus,
  validateReplicaSetStatus,
  validateStatefulSetStatus,
} from '../../../api/validation/workload-status.ts';
import { daemonSetWarnings, statefulSetWarnings, workloadWarnings } from '../../../api/warnings/workloads.ts';
import { badRequest } from '../../../api/status-error.ts';
import { deepEqual } from '../../../base/equal.ts';
import { quote } from '../../../base/go-quote.ts';
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
    warnings: workloadWarnings,
  },
  statusRules: {
    resetFields: { 'f:metadata': { 'f:labels': leaf }, 'f:spec': leaf },
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
    warnings: workloadWarnings,
  },
  statusRules: { validateUpdate: validateReplicaSetStatus },
  printer: replicaSetPrinter,
  scale: workloadScale(),
});

const INT64_LIMIT = 2n ** 63n;

/** The number of the annotation, 1 where there is none or a lower one. Throws 400 for a text that is no int64, as upstream's decoder. */
function templateGeneration({ metadata }: KubernetesObject): bigint {
  const text = metadata.annotations?.[TEMPLATE_GENERATION];
  if (text === undefined) return 1n;
  const number = /^[+-]?\d+$/u.test(text) ? BigInt(text.replace('+', '')) : undefined;
  const isInRange = number !== undefined && number >= -INT64_LIMIT && number < INT64_LIMIT;
  if (!isInRange) {
    const fault = `strconv.ParseInt: parsing ${quote(text)}: ${number === undefined ? 'invalid syntax' : 'value out of range'}`;
    throw badRequest(`DaemonSet in version "v1" cannot be handled as a DaemonSet: ${fault}`);
  }
  return number > 1n ? number : 1n;
}

function setTemplateGeneration({ metadata }: KubernetesObject, generation: bigint): void {
  metadata.annotations = { ...metadata.annotations, [TEMPLATE_GENERATION]: String(generation) };
}

/** Keeps the stored number, which no client changes; `changes` are added to it. */
function keepTemplateGeneration(draft: KubernetesObject, old: KubernetesObject, changes: bigint): void {
  templateGeneration(draft);
  setTemplateGeneration(draft, templateGeneration(old) + changes);
}

const daemonSets = defineResource(DaemonSets, {
  rules: {
    emptyStatus: { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 },
    generationOf: specOf,
    defaults: setDaemonSetDefaults,
    prepareForCreate: (draft) => setTemplateGeneration(draft, templateGeneration(draft)),
    prepareForUpdate(draft, old) {
      const changed = !deepEqual(draft.spec?.template, old.spec?.template);
      keepTemplateGeneration(draft, old, changed ? 1n : 0n);
    },
    validate: validateDaemonSet,
    validateUpdate: validateDaemonSetUpdate,
    warnings: daemonSetWarnings,
  },
  // Upstream keeps it in the spec: a write of the status cannot change it.
  statusRules: {
    prepareForUpdate: (draft, old) => keepTemplateGeneration(draft, old, 0n),
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
    warnings: statefulSetWarnings,
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
