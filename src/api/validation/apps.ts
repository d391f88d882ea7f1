/** Deployments, replica sets and controllers, daemon sets, revisions. Upstream: apis/apps/validation, apis/core/validation. */
import type { Steps } from '../../base/steps.ts';
import type { Field } from '../field-error.ts';
import type {
  ControllerRevision,
  DaemonSet,
  DaemonSetUpdateStrategy,
  Deployment,
  DeploymentSpec,
  DeploymentStrategy,
  ReplicaSet,
  ReplicaSetSpec,
} from '../gen/apps-v1.ts';
import type { PodTemplateSpec, ReplicationController } from '../gen/core-v1.ts';
import type { IntOrString, LabelSelector } from '../gen/meta-v1.ts';
import { compileLabelMap, compileLabelSelector } from '../label-selector.ts';
import {
  validateImmutable,
  validateNonnegative,
  validateNonnegativeIntOrPercent,
  validateNotAboveHundredPercent,
} from './common.ts';
import { internalForm } from './internal-form.ts';
import { validatePodTemplateSpec } from './pod-template.ts';
import { isEmptySelector, validateLabelSelector } from './selectors.ts';

export const NO_MATCH_TEXT = '`selector` does not match template `labels`';

/** How a kind refuses selectors. */
interface SelectorTexts {
  /** As upstream's text for an empty selector names the kind; upstream's daemon sets need none at all. */
  readonly kind: 'deployment' | 'statefulset' | 'daemonset';
  /** What is said of the whole selector when it is none; absent: nothing. */
  readonly unsound?: string;
}

/** A selector that is sound and not empty. Returns false when no template can be checked against it; none selects nothing. */
export function validateWorkloadSelector(
  selector: LabelSelector | undefined,
  { kind, unsound }: SelectorTexts,
  field: Field,
): boolean {
  if (selector === undefined) {
    // Upstream's daemon sets have no such rule: the template, which nothing selects, is what is wrong there.
    if (kind !== 'daemonset') field.required();
    return true;
  }
  const before = field.errors.length;
  validateLabelSelector(selector, field);
  const sound = field.errors.length === before;
  if (isEmptySelector(selector)) field.invalid(selector, `empty selector is invalid for ${kind}`);
  if (!sound && unsound !== undefined) field.invalid(selector, unsound);
  return sound;
}

/** A template that its workload selects. */
export function* validateSelectedTemplate(
  template: PodTemplateSpec | undefined,
  matches: boolean,
  field: Field,
): Steps<void> {
  if (template === undefined) return field.required();
  if (!matches)
    field
      .at('metadata')
      .at('labels')
      .invalid(template.metadata?.labels ?? null, NO_MATCH_TEXT);
  yield* validatePodTemplateSpec(template, field);
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

/** As upstream counts: text that is neither a number nor a percentage is zero. */
export function isZero(value: IntOrString): boolean {
  if (typeof value === 'number') return value === 0;
  return !/^(\d+%|[+-]?\d+)$/.test(value) || Number.parseInt(value, 10) === 0;
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
      field.notSupported(internalForm(strategy, 'apps.v1.DeploymentStrategy'), ['Recreate', 'RollingUpdate']);
  }
}

/** Upstream's replica sets speak of deployments, and a template is not looked at when its selector is unsound. */
function* validateReplicaTemplate({ selector, template }: DeploymentSpec | ReplicaSetSpec, field: Field): Steps<void> {
  const texts = { kind: 'deployment', unsound: 'invalid label selector' } as const;
  if (!validateWorkloadSelector(selector, texts, field.at('selector'))) return;
  yield* validateSelectedTemplate(template, templateMatches(selector, template, true), field.at('template'));
  validateAlwaysRestarts(template, 'ReplicaSet', field.at('template'));
}

export function* validateDeployment(deployment: Deployment, field: Field): Steps<void> {
  const place = field.at('spec');
  const spec = deployment.spec;
  if (spec === undefined) return place.required();
  validateNonnegative(spec.replicas, place.at('replicas'));
  yield* validateReplicaTemplate(spec, place);
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
export function* validateDeploymentUpdate(deployment: Deployment, old: Deployment, field: Field): Steps<void> {
  yield* validateDeployment(deployment, field);
  validateImmutable(deployment.spec?.selector, old.spec?.selector, field.at('spec').at('selector'));
}

export function* validateReplicaSet(replicaSet: ReplicaSet, field: Field): Steps<void> {
  const place = field.at('spec');
  const spec = replicaSet.spec;
  if (spec === undefined) return place.required();
  validateNonnegative(spec.replicas, place.at('replicas'));
  validateNonnegative(spec.minReadySeconds, place.at('minReadySeconds'));
  yield* validateReplicaTemplate(spec, place);
}

/** The selector of a replica set never changes. */
export function* validateReplicaSetUpdate(replicaSet: ReplicaSet, old: ReplicaSet, field: Field): Steps<void> {
  yield* validateReplicaSet(replicaSet, field);
  validateImmutable(replicaSet.spec?.selector, old.spec?.selector, field.at('spec').at('selector'));
}

export function* validateReplicationController(controller: ReplicationController, field: Field): Steps<void> {
  const place = field.at('spec');
  const { selector, template, replicas, minReadySeconds } = controller.spec ?? {};
  validateNonnegative(minReadySeconds, place.at('minReadySeconds'));
  if (Object.keys(selector ?? {}).length === 0) place.at('selector').required();
  validateNonnegative(replicas, place.at('replicas'));
  yield* validateSelectedTemplate(
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
      for (const check of [validateNonnegativeIntOrPercent, validateNotAboveHundredPercent]) {
        check(maxUnavailable, place.at('maxUnavailable'));
        check(maxSurge, place.at('maxSurge'));
      }
      if (!isZero(maxUnavailable) && !isZero(maxSurge))
        place.at('maxSurge').invalid(maxSurge, 'may not be set when maxUnavailable is non-zero');
      if (isZero(maxUnavailable) && isZero(maxSurge))
        place.at('maxUnavailable').required('cannot be 0 when maxSurge is 0');
      break;
    }
    default:
      field.notSupported(internalForm(strategy, 'apps.v1.DaemonSetUpdateStrategy'), ['RollingUpdate', 'OnDelete']);
  }
}

export function* validateDaemonSet(daemonSet: DaemonSet, field: Field): Steps<void> {
  const place = field.at('spec');
  const spec = daemonSet.spec;
  if (spec === undefined) return place.required();
  const sound = validateWorkloadSelector(spec.selector, { kind: 'daemonset' }, place.at('selector'));
  yield* validateSelectedTemplate(
    spec.template,
    templateMatches(spec.selector, spec.template, sound),
    place.at('template'),
  );
  validateAlwaysRestarts(spec.template, 'DaemonSet', place.at('template'));
  validateNonnegative(spec.minReadySeconds, place.at('minReadySeconds'));
  validateDaemonSetStrategy(spec.updateStrategy ?? {}, place.at('updateStrategy'));
  validateNonnegative(spec.revisionHistoryLimit, place.at('revisionHistoryLimit'));
}

/** The selector of a daemon set never changes. */
export function* validateDaemonSetUpdate(daemonSet: DaemonSet, old: DaemonSet, field: Field): Steps<void> {
  validateImmutable(daemonSet.spec?.selector, old.spec?.selector, field.at('spec').at('selector'));
  yield* validateDaemonSet(daemonSet, field);
}

export function validateControllerRevision(revision: ControllerRevision, field: Field): void {
  validateNonnegative(revision.revision, field.at('revision'));
  const { data } = revision;
  if (data === undefined || data === null) field.at('data').required('data is mandatory');
  else if (typeof data !== 'object' || Array.isArray(data))
    field.at('data').required('data must be a valid JSON object');
}

/** The data of a revision never changes. */
export function validateControllerRevisionUpdate(
  revision: ControllerRevision,
  old: ControllerRevision,
  field: Field,
): void {
  validateNonnegative(revision.revision, field.at('revision'));
  validateImmutable(revision.data, old.data, field.at('data'));
}
