/**
 * Validation of deployments, replica sets, replication controllers, daemon sets and revisions. Upstream: apis/apps/validation,
 * apis/core/validation.
 */
import type { Steps } from '../../base/steps.ts';
import type { Field } from '../field-error.ts';
import type { Deployment, DeploymentSpec, DeploymentStrategy, ReplicaSet, ReplicaSetSpec } from '../gen/apps-v1.ts';
import type { PodTemplateSpec, ReplicationController } from '../gen/core-v1.ts';
import type { IntOrString, LabelSelector } from '../gen/meta-v1.ts';
import { compileLabelMap, compileLabelSelector } from '../label-selector.ts';
import {
  validateImmutableStruct,
  validateNonnegative,
  validateNonnegativeIntOrPercent,
  validateNotAboveHundredPercent,
} from './common.ts';
import { internalForm, shownMap, shownSelector } from './internal-form.ts';
import { validatePodTemplateSpec } from './pod-template.ts';
import { isEmptySelector, validateLabelSelector } from './selectors.ts';

export const NO_MATCH_TEXT = '`selector` does not match template `labels`';

/** The errors for invalid selectors, which depend on the kind. */
interface SelectorTexts {
  /** The kind in upstream's error for an empty selector; upstream's daemon sets may lack a selector. */
  readonly kind: 'deployment' | 'statefulset' | 'daemonset';
  /** The error at the whole selector when it is invalid; absent when upstream has none. */
  readonly unsound?: string;
}

/** Validates a selector, which must not be empty. Returns false when the template cannot be checked against it. */
export function validateWorkloadSelector(
  selector: LabelSelector | undefined,
  { kind, unsound }: SelectorTexts,
  field: Field,
): boolean {
  if (selector === undefined) {
    // As upstream, a daemon set without a selector has an error at its template instead.
    if (kind !== 'daemonset') field.required();
    return true;
  }
  const before = field.errors.length;
  validateLabelSelector(selector, field);
  const sound = field.errors.length === before;
  if (isEmptySelector(selector)) field.invalid(shownSelector(selector), `empty selector is invalid for ${kind}`);
  if (!sound && unsound !== undefined) field.invalid(shownSelector(selector), unsound);
  return sound;
}

/** Validates the template and that the selector matches its labels. */
export function* validateSelectedTemplate(
  template: PodTemplateSpec | undefined,
  matches: boolean,
  field: Field,
): Steps<void> {
  if (template === undefined) return field.required();
  if (!matches) field.at('metadata').at('labels').invalid(shownMap(template.metadata?.labels), NO_MATCH_TEXT);
  yield* validatePodTemplateSpec(template, field);
}

/**
 * Pods of controllers that replace them must have the restart policy Always and no deadline. `kind` is upstream's name in the
 * error.
 */
export function validateAlwaysRestarts(template: PodTemplateSpec | undefined, kind: string, field: Field): void {
  const spec = template?.spec;
  if (spec === undefined) return;
  const place = field.at('spec');
  if (spec.restartPolicy !== 'Always' && (spec.restartPolicy ?? '') !== '')
    place.at('restartPolicy').notSupported(spec.restartPolicy, ['Always']);
  if (spec.activeDeadlineSeconds !== undefined)
    place.at('activeDeadlineSeconds').forbidden(`activeDeadlineSeconds in ${kind} is not Supported`);
}

export function templateMatches(
  selector: LabelSelector | undefined,
  template: PodTemplateSpec | undefined,
  sound: boolean,
): boolean {
  return !sound || template === undefined || compileLabelSelector(selector).matches(template.metadata?.labels);
}

/** As upstream, a text that is neither a number nor a percentage counts as zero. */
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

/** As upstream, a replica set's template is validated like a deployment's, and skipped when the selector is invalid. */
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

/** The selector of a deployment is immutable. */
export function* validateDeploymentUpdate(deployment: Deployment, old: Deployment, field: Field): Steps<void> {
  yield* validateDeployment(deployment, field);
  validateImmutableStruct(
    [deployment.spec?.selector, old.spec?.selector],
    'meta.v1.LabelSelector',
    field.at('spec').at('selector'),
  );
}

export function* validateReplicaSet(replicaSet: ReplicaSet, field: Field): Steps<void> {
  const place = field.at('spec');
  const spec = replicaSet.spec;
  if (spec === undefined) return place.required();
  validateNonnegative(spec.replicas, place.at('replicas'));
  validateNonnegative(spec.minReadySeconds, place.at('minReadySeconds'));
  yield* validateReplicaTemplate(spec, place);
}

/** The selector of a replica set is immutable. */
export function* validateReplicaSetUpdate(replicaSet: ReplicaSet, old: ReplicaSet, field: Field): Steps<void> {
  yield* validateReplicaSet(replicaSet, field);
  validateImmutableStruct(
    [replicaSet.spec?.selector, old.spec?.selector],
    'meta.v1.LabelSelector',
    field.at('spec').at('selector'),
  );
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
