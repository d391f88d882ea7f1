/** Deployments, replica sets and controllers, daemon sets, revisions. Upstream: apis/apps/validation, apis/core/validation. */
import { deepEqual } from '../../base/equal.ts';
import type { Field } from '../field-error.ts';
import type {
  ControllerRevision,
  DaemonSet,
  DaemonSetUpdateStrategy,
  Deployment,
  DeploymentStrategy,
  ReplicaSet,
} from '../gen/apps-v1.ts';
import type { PodTemplateSpec, ReplicationController } from '../gen/core-v1.ts';
import type { IntOrString, LabelSelector } from '../gen/meta-v1.ts';
import { percentOf } from '../int-or-string.ts';
import { compileLabelMap, compileLabelSelector } from '../label-selector.ts';
import {
  isEmptySelector,
  validateImmutable,
  validateLabelSelector,
  validateNonnegative,
  validateNonnegativeIntOrPercent,
  validateNotAboveHundredPercent,
} from './common.ts';
import { validatePodTemplateSpec } from './pod-template.ts';

/** A selector that is sound and not empty. Returns false when no template can be checked against it; none selects nothing. */
export function validateWorkloadSelector(selector: LabelSelector | undefined, kind: string, field: Field): boolean {
  if (selector === undefined) {
    // Upstream's daemon sets have no such rule: the template, which nothing selects, is what is wrong there.
    if (kind !== 'daemonset') field.required();
    return true;
  }
  const before = field.errors.length;
  validateLabelSelector(selector, field);
  if (isEmptySelector(selector)) {
    field.invalid(selector, `empty selector is invalid for ${kind}`);
    return false;
  }
  return field.errors.length === before;
}

/** A template that its workload selects. */
export function validateSelectedTemplate(template: PodTemplateSpec | undefined, matches: boolean, field: Field): void {
  if (template === undefined) return field.required();
  if (!matches)
    field
      .at('metadata')
      .at('labels')
      .invalid(template.metadata?.labels ?? null, '`selector` does not match template `labels`');
  validatePodTemplateSpec(template, field);
}

/** Pods of controllers that replace them always restart and have no deadline; `kind` as upstream's text names it. */
export function validateAlwaysRestarts(template: PodTemplateSpec | undefined, kind: string, field: Field): void {
  const spec = template?.spec;
  if (spec === undefined) return;
  const place = field.at('spec');
  if (spec.restartPolicy !== 'Always' && (spec.restartPolicy ?? '') !== '')
    place.at('restartPolicy').notSupported(spec.restartPolicy, ['Always']);
  if (spec.activeDeadlineSeconds !== undefined)
    place.at('activeDeadlineSeconds').forbidden(`activeDeadlineSeconds in ${kind} is not Supported`);
}

function templateMatches(
  selector: LabelSelector | undefined,
  template: PodTemplateSpec | undefined,
  sound: boolean,
): boolean {
  return !sound || template === undefined || compileLabelSelector(selector).matches(template.metadata?.labels);
}

function isZero(value: IntOrString | undefined): boolean {
  return value === 0 || (value !== undefined && percentOf(value) === 0);
}

function validateDeploymentStrategy(strategy: DeploymentStrategy, field: Field): void {
  switch (strategy.type) {
    case 'Recreate':
      if (strategy.rollingUpdate !== undefined)
        field.at('rollingUpdate').forbidden("may not be specified when strategy `type` is 'Recreate'");
      break;
    case 'RollingUpdate': {
      if (strategy.rollingUpdate === undefined)
        return field.at('rollingUpdate').required('this should be defaulted and never be nil');
      const place = field.at('rollingUpdate');
      const { maxUnavailable = 0, maxSurge = 0 } = strategy.rollingUpdate;
      validateNonnegativeIntOrPercent(maxUnavailable, place.at('maxUnavailable'));
      validateNonnegativeIntOrPercent(maxSurge, place.at('maxSurge'));
      if (isZero(maxUnavailable) && isZero(maxSurge))
        place.at('maxUnavailable').invalid(maxUnavailable, 'may not be 0 when `maxSurge` is 0');
      validateNotAboveHundredPercent(maxUnavailable, place.at('maxUnavailable'));
      break;
    }
    default:
      field.notSupported(strategy, ['Recreate', 'RollingUpdate']);
  }
}

export function validateDeployment(deployment: Deployment, field: Field): void {
  const place = field.at('spec');
  const spec = deployment.spec;
  if (spec === undefined) return place.required();
  validateNonnegative(spec.replicas, place.at('replicas'));
  const sound = validateWorkloadSelector(spec.selector, 'deployment', place.at('selector'));
  validateSelectedTemplate(spec.template, templateMatches(spec.selector, spec.template, sound), place.at('template'));
  validateAlwaysRestarts(spec.template, 'ReplicaSet', place.at('template'));
  validateDeploymentStrategy(spec.strategy ?? {}, place.at('strategy'));
  validateNonnegative(spec.minReadySeconds, place.at('minReadySeconds'));
  validateNonnegative(spec.revisionHistoryLimit, place.at('revisionHistoryLimit'));
  const deadline = spec.progressDeadlineSeconds;
  if (deadline === undefined) return;
  validateNonnegative(deadline, place.at('progressDeadlineSeconds'));
  if (deadline <= (spec.minReadySeconds ?? 0))
    place.at('progressDeadlineSeconds').invalid(deadline, 'must be greater than minReadySeconds');
}

/** The selector of a deployment never changes. */
export function validateDeploymentUpdate(deployment: Deployment, old: Deployment, field: Field): void {
  validateDeployment(deployment, field);
  validateImmutable(deployment.spec?.selector, old.spec?.selector, field.at('spec').at('selector'));
}

export function validateReplicaSet(replicaSet: ReplicaSet, field: Field): void {
  const place = field.at('spec');
  const spec = replicaSet.spec;
  if (spec === undefined) return place.required();
  validateNonnegative(spec.replicas, place.at('replicas'));
  validateNonnegative(spec.minReadySeconds, place.at('minReadySeconds'));
  const sound = validateWorkloadSelector(spec.selector, 'deployment', place.at('selector'));
  validateSelectedTemplate(spec.template, templateMatches(spec.selector, spec.template, sound), place.at('template'));
  validateAlwaysRestarts(spec.template, 'ReplicaSet', place.at('template'));
}

/** The selector of a replica set never changes. */
export function validateReplicaSetUpdate(replicaSet: ReplicaSet, old: ReplicaSet, field: Field): void {
  validateReplicaSet(replicaSet, field);
  validateImmutable(replicaSet.spec?.selector, old.spec?.selector, field.at('spec').at('selector'));
}

export function validateReplicationController(controller: ReplicationController, field: Field): void {
  const place = field.at('spec');
  const { selector, template, replicas, minReadySeconds } = controller.spec ?? {};
  validateNonnegative(minReadySeconds, place.at('minReadySeconds'));
  if (Object.keys(selector ?? {}).length === 0) place.at('selector').required();
  validateNonnegative(replicas, place.at('replicas'));
  validateSelectedTemplate(
    template,
    compileLabelMap(selector).matches(template?.metadata?.labels),
    place.at('template'),
  );
  validateAlwaysRestarts(template, 'ReplicationController', place.at('template'));
}

function validateDaemonSetStrategy(strategy: DaemonSetUpdateStrategy, field: Field): void {
  switch (strategy.type) {
    case 'OnDelete':
      break;
    case 'RollingUpdate': {
      if (strategy.rollingUpdate === undefined) return field.at('rollingUpdate').required();
      const place = field.at('rollingUpdate');
      const { maxUnavailable = 0, maxSurge = 0 } = strategy.rollingUpdate;
      for (const [name, value] of [
        ['maxUnavailable', maxUnavailable],
        ['maxSurge', maxSurge],
      ] as const) {
        validateNonnegativeIntOrPercent(value, place.at(name));
        validateNotAboveHundredPercent(value, place.at(name));
      }
      if (!isZero(maxUnavailable) && !isZero(maxSurge))
        place.at('maxSurge').invalid(maxSurge, 'may not be set when maxUnavailable is non-zero');
      if (isZero(maxUnavailable) && isZero(maxSurge))
        place.at('maxUnavailable').required('cannot be 0 when maxSurge is 0');
      break;
    }
    default:
      field.at('type').notSupported(strategy.type ?? '', ['OnDelete', 'RollingUpdate']);
  }
}

export function validateDaemonSet(daemonSet: DaemonSet, field: Field): void {
  const place = field.at('spec');
  const spec = daemonSet.spec;
  if (spec === undefined) return place.required();
  const sound = validateWorkloadSelector(spec.selector, 'daemonset', place.at('selector'));
  validateSelectedTemplate(spec.template, templateMatches(spec.selector, spec.template, sound), place.at('template'));
  validateAlwaysRestarts(spec.template, 'DaemonSet', place.at('template'));
  validateNonnegative(spec.minReadySeconds, place.at('minReadySeconds'));
  validateDaemonSetStrategy(spec.updateStrategy ?? {}, place.at('updateStrategy'));
  validateNonnegative(spec.revisionHistoryLimit, place.at('revisionHistoryLimit'));
}

/** The selector of a daemon set never changes. */
export function validateDaemonSetUpdate(daemonSet: DaemonSet, old: DaemonSet, field: Field): void {
  validateDaemonSet(daemonSet, field);
  validateImmutable(daemonSet.spec?.selector, old.spec?.selector, field.at('spec').at('selector'));
}

export function validateControllerRevision(revision: ControllerRevision, field: Field): void {
  if (revision.data === undefined) field.at('data').required('data is mandatory');
  validateNonnegative(revision.revision, field.at('revision'));
}

/** The data of a revision never changes. */
export function validateControllerRevisionUpdate(
  revision: ControllerRevision,
  old: ControllerRevision,
  field: Field,
): void {
  validateControllerRevision(revision, field);
  if (!deepEqual(revision.data, old.data)) validateImmutable(revision.data, old.data, field.at('data'));
}
