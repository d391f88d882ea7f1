/**
 * Priority: sets a pod's priority and preemption policy from its priority class, and allows only one default class.
 * Upstream: plugin/pkg/admission/priority.
 */
import type { Stored } from '../../../api/object.ts';
import type { Pod } from '../../../api/gen/core-v1.ts';
import { PriorityClasses } from '../../../api/gen/resources.ts';
import type { PriorityClass } from '../../../api/gen/scheduling-v1.ts';
import { forbidden } from '../../../api/status-error.ts';
import type { ObjectStore } from '../../registry/object-store.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../contract.ts';
import { refusal } from '../refusal.ts';

export function createPriority(objects: () => ObjectStore): AdmissionPlugin {
  return {
    name: 'Priority',
    handles: (operation, resource, subresource) =>
      subresource === '' &&
      (operation === 'CREATE' || operation === 'UPDATE') &&
      ((resource.group === '' && resource.resource === 'pods') ||
        (resource.group === 'scheduling.k8s.io' && resource.resource === 'priorityclasses')),
    mutate(attributes) {
      if (attributes.resource.resource !== 'pods') return;
      if (attributes.operation === 'CREATE') resolve(attributes, objects());
      else keep(attributes.object as Pod, attributes.oldObject as Pod);
    },
    validate(attributes) {
      if (attributes.resource.resource === 'priorityclasses') refuseSecondDefault(attributes, objects());
    },
  };
}

function resolve(attributes: AdmissionAttributes, objects: ObjectStore): void {
  const pod = attributes.object as Pod;
  const spec = pod.spec;
  if (spec === undefined) return;
  const chosen = spec.priorityClassName ?? '';
  const priorityClass = chosen === '' ? defaultClass(objects) : objects.get(PriorityClasses, '', chosen);
  if (chosen !== '' && priorityClass === undefined)
    throw refusal(attributes, `no PriorityClass with name ${chosen} was found`);
  const value = priorityClass?.value ?? 0;
  const policy = priorityClass?.preemptionPolicy ?? 'PreemptLowerPriority';
  if (spec.priority !== undefined && spec.priority !== value)
    throw refusal(
      attributes,
      `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${value} from the given PriorityClass name`,
    );
  if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== policy)
    throw refusal(
      attributes,
      `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${policy} from the given PriorityClass name`,
    );
  if (priorityClass !== undefined) spec.priorityClassName = priorityClass.metadata.name;
  spec.priority = value;
  spec.preemptionPolicy = policy;
}

/** An update without the priority keeps the former one. */
function keep(pod: Pod, old: Pod): void {
  if (pod.spec === undefined || old.spec === undefined) return;
  if (pod.spec.priority === undefined && old.spec.priority !== undefined) pod.spec.priority = old.spec.priority;
  if (pod.spec.preemptionPolicy === undefined && old.spec.preemptionPolicy !== undefined)
    pod.spec.preemptionPolicy = old.spec.preemptionPolicy;
}

/** The default class; the lowest-valued one if there are several. */
function defaultClass(objects: ObjectStore): Stored<PriorityClass> | undefined {
  const defaults = objects.list(PriorityClasses).filter((c) => c.globalDefault === true);
  return defaults.length === 0
    ? undefined
    : defaults.reduce((least, c) => ((c.value ?? 0) < (least.value ?? 0) ? c : least));
}

function refuseSecondDefault(attributes: AdmissionAttributes, objects: ObjectStore): void {
  const candidate = attributes.object as PriorityClass;
  if (candidate.globalDefault !== true) return;
  const other = objects
    .list(PriorityClasses)
    .find((c) => c.globalDefault === true && c.metadata.name !== candidate.metadata.name);
  if (other === undefined) return;
  throw forbidden(
    attributes.resource,
    candidate.metadata.name ?? '',
    `PriorityClass ${other.metadata.name} is already marked as default. Only one default can exist`,
  );
}
