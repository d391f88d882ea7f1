/** Validation of daemon sets. Upstream: apis/apps/validation. */
import type { Steps } from '../../base/steps.ts';
import type { Field } from '../field-error.ts';
import type { DaemonSetUpdateStrategy, DaemonSet } from '../gen/apps-v1.ts';
import {
  isZero,
  validateWorkloadSelector,
  validateSelectedTemplate,
  templateMatches,
  validateAlwaysRestarts,
} from './apps.ts';
import {
  validateNonnegativeIntOrPercent,
  validateNotAboveHundredPercent,
  validateNonnegative,
  validateImmutableStruct,
} from './common.ts';
import { internalForm } from './internal-form.ts';

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

/** The selector of a daemon set is immutable. */
export function* validateDaemonSetUpdate(daemonSet: DaemonSet, old: DaemonSet, field: Field): Steps<void> {
  validateImmutableStruct(
    [daemonSet.spec?.selector, old.spec?.selector],
    'meta.v1.LabelSelector',
    field.at('spec').at('selector'),
  );
  yield* validateDaemonSet(daemonSet, field);
}
