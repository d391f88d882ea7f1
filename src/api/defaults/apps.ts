/** Defaults of apps/v1. Upstream: apis/apps/v1/defaults.go. */
import type { DaemonSet, Deployment, ReplicaSet, StatefulSet } from '../gen/apps-v1.ts';
import { setPodTemplateSpecDefaults } from './pod.ts';
import { setPersistentVolumeClaimDefaults } from './volumes.ts';

export function setDeploymentDefaults(deployment: Deployment): void {
  const spec = deployment.spec;
  if (spec === undefined) return;
  spec.replicas ??= 1;
  const strategy = (spec.strategy ??= {});
  strategy.type ||= 'RollingUpdate';
  if (strategy.type === 'RollingUpdate') {
    strategy.rollingUpdate ??= {};
    strategy.rollingUpdate.maxUnavailable ??= '25%';
    strategy.rollingUpdate.maxSurge ??= '25%';
  }
  spec.revisionHistoryLimit ??= 10;
  spec.progressDeadlineSeconds ??= 600;
  setPodTemplateSpecDefaults(spec.template);
}

export function setReplicaSetDefaults(replicaSet: ReplicaSet): void {
  if (replicaSet.spec === undefined) return;
  replicaSet.spec.replicas ??= 1;
  setPodTemplateSpecDefaults(replicaSet.spec.template);
}

/**
 * Annotation of a DaemonSet with the number of its template changes, which was a field in beta versions. Its pods have it as a
 * label.
 */
export const TEMPLATE_GENERATION = 'deprecated.daemonset.template.generation';

export function setDaemonSetDefaults(daemonSet: DaemonSet): void {
  // Upstream's conversion always sets it, so the manager that sends the object owns it.
  if (daemonSet.metadata.annotations?.[TEMPLATE_GENERATION] === undefined)
    daemonSet.metadata.annotations = { [TEMPLATE_GENERATION]: '0', ...daemonSet.metadata.annotations };
  const spec = daemonSet.spec;
  if (spec === undefined) return;
  const strategy = (spec.updateStrategy ??= {});
  strategy.type ||= 'RollingUpdate';
  if (strategy.type === 'RollingUpdate') {
    strategy.rollingUpdate ??= {};
    strategy.rollingUpdate.maxUnavailable ??= 1;
    strategy.rollingUpdate.maxSurge ??= 0;
  } else if (strategy.rollingUpdate !== undefined) {
    strategy.rollingUpdate.maxUnavailable ??= 0;
    strategy.rollingUpdate.maxSurge ??= 0;
  }
  spec.revisionHistoryLimit ??= 10;
  setPodTemplateSpecDefaults(spec.template);
}

export function setStatefulSetDefaults(statefulSet: StatefulSet): void {
  const spec = statefulSet.spec;
  if (spec === undefined) return;
  spec.podManagementPolicy ||= 'OrderedReady';
  const strategy = (spec.updateStrategy ??= {});
  if ((strategy.type ?? '') === '') {
    strategy.type = 'RollingUpdate';
    strategy.rollingUpdate ??= {};
  }
  if (strategy.type === 'RollingUpdate' && strategy.rollingUpdate !== undefined) strategy.rollingUpdate.partition ??= 0;
  const retention = (spec.persistentVolumeClaimRetentionPolicy ??= {});
  retention.whenDeleted ||= 'Retain';
  retention.whenScaled ||= 'Retain';
  spec.replicas ??= 1;
  spec.revisionHistoryLimit ??= 10;
  setPodTemplateSpecDefaults(spec.template);
  for (const claim of spec.volumeClaimTemplates ?? []) {
    if (claim.apiVersion !== 'v1') claim.apiVersion = 'v1';
    if (claim.kind !== 'PersistentVolumeClaim') claim.kind = 'PersistentVolumeClaim';
    setPersistentVolumeClaimDefaults(claim);
  }
}
