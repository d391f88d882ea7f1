/**
 * LimitRanger: sets containers' requests and limits from the namespace's limit ranges and refuses pods outside them.
 * Upstream: plugin/pkg/admission/limitranger. A namespace may have any number of ranges, each of thousands of names, and a pod
 * thousands of containers: they are brought together in steps.
 */
import type { LimitRange, LimitRangeItem, Pod } from '../../../api/gen/core-v1.ts';
import { LimitRanges } from '../../../api/gen/resources.ts';
import { forbidden } from '../../../api/status-error.ts';
import { stepByStep, StepMeter, type Steps } from '../../../base/steps.ts';
import type { ObjectStore } from '../../registry/object-store.ts';
import { recordFault } from '../../refused-requests/refusal-source.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../contract.ts';
import { fillPod } from './container-defaults.ts';
import { problemsWith, subjectsOf } from './range-problems.ts';

/** A refusal says no more. */
const MAX_PROBLEMS = 1000;
const CHECKS_PER_STEP = 2000;

export function createLimitRanger(objects: () => ObjectStore): AdmissionPlugin {
  const rangesOf = (attributes: AdmissionAttributes): readonly LimitRange[] =>
    objects().list(LimitRanges, attributes.namespace);
  return {
    name: 'LimitRanger',
    handles(operation, { group, resource }, subresource) {
      if (group !== '') return false;
      if (subresource !== '') return resource === 'pods' && subresource === 'resize' && operation === 'UPDATE';
      return (
        (resource === 'pods' && operation === 'CREATE') ||
        (resource === 'persistentvolumeclaims' && (operation === 'CREATE' || operation === 'UPDATE'))
      );
    },
    mutate(attributes) {
      if (attributes.resource.resource !== 'pods') return undefined;
      const items = rangesOf(attributes).flatMap(itemsOf);
      return stepByStep(fillPod(attributes.object as Pod, items), () => attributes.context.nextStep?.());
    },
    validate: (attributes) =>
      stepByStep(checkRanges(attributes, rangesOf(attributes)), () => attributes.context.nextStep?.()),
  };
}

function itemsOf({ spec }: LimitRange): readonly LimitRangeItem[] {
  return spec?.limits ?? [];
}

function* checkRanges(attributes: AdmissionAttributes, ranges: readonly LimitRange[]): Steps<void> {
  const subjects = subjectsOf(attributes);
  const meter = new StepMeter(CHECKS_PER_STEP);
  const problems: string[] = [];
  let first: LimitRange | undefined;
  for (const range of ranges)
    for (const item of itemsOf(range)) {
      const size = boundsOf(item);
      for (const subject of subjects(item.type)) {
        for (const problem of problemsWith(item, subject)) {
          first ??= range;
          problems.push(problem);
          if (problems.length === MAX_PROBLEMS) throw refuse(attributes, problems, first);
        }
        if (meter.endsStep(size)) yield;
      }
    }
  if (first !== undefined) throw refuse(attributes, problems, first);
}

function boundsOf({ min, max, maxLimitRequestRatio }: LimitRangeItem): number {
  return [min, max, maxLimitRequestRatio].reduce((sum, bounds) => sum + Object.keys(bounds ?? {}).length, 1);
}

function refuse(attributes: AdmissionAttributes, problems: readonly string[], first: LimitRange): Error {
  const name = attributes.name === '' ? (attributes.object?.metadata.name ?? '') : attributes.name;
  const why = problems.length === 1 ? problems[0]! : `[${problems.join(', ')}]`;
  return recordFault(forbidden(attributes.resource, name, why), LimitRanges, first.metadata);
}
