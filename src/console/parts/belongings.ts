/** Lists of objects that belong to one object: pods of a workload, a node, a service. */
import type { LabelSelector } from '../../api/gen/meta-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { kindId, type ObjectRef } from '../api/kinds.ts';

/** One list of belonging objects. */
export interface Belonging {
  readonly kind: string;
  readonly namespace: string;
  readonly labelSelector: string;
  readonly fieldSelector: string;
}

interface Selecting {
  readonly selector?: Readonly<Record<string, string>> | LabelSelector;
}

/** Kinds whose pods are found by their selector. */
const SELECTING = ['deployments.apps', 'replicasets.apps', 'statefulsets.apps', 'daemonsets.apps', 'jobs.batch'];

export function belongingsOf({ kind, namespace, name }: ObjectRef, object: KubernetesObject): readonly Belonging[] {
  const { spec = {} } = object as { readonly spec?: Selecting };
  const id = kindId(kind);
  const list = (resource: string, labelSelector: string, fieldSelector = ''): Belonging => ({
    kind: resource,
    namespace,
    labelSelector,
    fieldSelector,
  });
  if (id === 'nodes') return [list('pods', '', `spec.nodeName=${name}`)];
  if (id === 'services') {
    const selector = equalities((spec.selector as Readonly<Record<string, string>> | undefined) ?? {});
    const slices = list('endpointslices.discovery.k8s.io', `kubernetes.io/service-name=${name}`);
    return selector === '' ? [slices] : [list('pods', selector), slices];
  }
  if (id === 'replicationcontrollers')
    return some('pods', equalities((spec.selector as Readonly<Record<string, string>> | undefined) ?? {}));
  if (!SELECTING.includes(id)) return [];
  const selector = selectorText((spec.selector as LabelSelector | undefined) ?? {});
  return id === 'deployments.apps'
    ? [...some('replicasets.apps', selector), ...some('pods', selector)]
    : some('pods', selector);

  function some(resource: string, text: string): readonly Belonging[] {
    return text === '' ? [] : [list(resource, text)];
  }
}

function equalities(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
}

/** A selector in the form of the API's parameter. */
export function selectorText({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const more = matchExpressions.map(({ key, operator, values = [] }) => {
    if (operator === 'Exists') return key;
    if (operator === 'DoesNotExist') return `!${key}`;
    return `${key} ${operator === 'In' ? 'in' : 'notin'} (${values.join(',')})`;
  });
  return [equalities(matchLabels), ...more].filter((text) => text !== '').join(',');
}
