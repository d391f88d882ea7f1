/**
 * LimitRanger: sets containers' requests and limits from the namespace's limit ranges and refuses pods outside them.
 * Upstream: plugin/pkg/admission/limitranger.
 */
import type { Container, LimitRange, LimitRangeItem, PersistentVolumeClaim, Pod } from '../../../api/gen/core-v1.ts';
import { LimitRanges } from '../../../api/gen/resources.ts';
import { compareQuantities, isZeroQuantity, quantityAsFloat } from '../../../api/quantity.ts';
import { forbidden } from '../../../api/status-error.ts';
import { podTotals, type Quantities } from '../../../component-helpers/quota/resource-lists.ts';
import type { ObjectStore } from '../../registry/object-store.ts';
import { recordFault } from '../../refused-requests/refusal-source.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../contract.ts';

const ANNOTATION = 'kubernetes.io/limit-ranger';

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
      if (attributes.resource.resource === 'pods') {
        fillPod(attributes.object as Pod, rangesOf(attributes).flatMap(itemsOf));
      }
    },
    validate(attributes) {
      const found = rangesOf(attributes)
        .map((range) => ({ range, problems: problemsOf(attributes, itemsOf(range)) }))
        .filter(({ problems }) => problems.length > 0);
      const [first] = found;
      if (first === undefined) return;
      const problems = found.flatMap((one) => one.problems);
      const name = attributes.name === '' ? (attributes.object?.metadata.name ?? '') : attributes.name;
      const why = problems.length === 1 ? problems[0]! : `[${problems.join(', ')}]`;
      throw recordFault(forbidden(attributes.resource, name, why), LimitRanges, first.range.metadata);
    },
  };
}

function itemsOf({ spec }: LimitRange): readonly LimitRangeItem[] {
  return spec?.limits ?? [];
}

function problemsOf({ resource, object }: AdmissionAttributes, items: readonly LimitRangeItem[]): string[] {
  return resource.resource === 'pods'
    ? podProblems(object as Pod, items)
    : claimProblems(object as PersistentVolumeClaim, items);
}

function fillPod(pod: Pod, items: readonly LimitRangeItem[]): void {
  const ofContainers = items.filter((item) => item.type === 'Container');
  const [requests, limits]: [Quantities, Quantities] = [{}, {}];
  for (const item of ofContainers) {
    Object.assign(requests, item.defaultRequest);
    Object.assign(limits, item.default);
  }
  const notes = [
    ...(pod.spec?.containers ?? []).flatMap((container) => fillContainer(container, 'container', { requests, limits })),
    ...(pod.spec?.initContainers ?? []).flatMap((container) =>
      fillContainer(container, 'init container', { requests, limits }),
    ),
  ];
  if (notes.length === 0) return;
  pod.metadata.annotations = {
    ...pod.metadata.annotations,
    [ANNOTATION]: `LimitRanger plugin set: ${notes.join('; ')}`,
  };
}

function fillContainer(
  container: Container,
  what: string,
  defaults: { readonly requests: Quantities; readonly limits: Quantities },
): string[] {
  const notes: string[] = [];
  for (const kind of ['requests', 'limits'] as const) {
    const amounts = container.resources?.[kind] ?? {};
    const missing = Object.keys(defaults[kind])
      .filter((name) => !Object.hasOwn(amounts, name))
      .sort();
    if (missing.length === 0) continue;
    const filled = Object.fromEntries(missing.map((name) => [name, defaults[kind][name] ?? '0']));
    container.resources = { ...container.resources, [kind]: { ...amounts, ...filled } };
    notes.push(`${missing.join(', ')} ${kind === 'requests' ? 'request' : 'limit'} for ${what} ${container.name}`);
  }
  return notes;
}

interface Subject {
  readonly type: string;
  readonly requests: Quantities;
  readonly limits: Quantities;
  /** Volumes have requests only. */
  readonly requestsOnly?: boolean;
}

function podProblems(pod: Pod, items: readonly LimitRangeItem[]): string[] {
  const spec = pod.spec;
  if (spec === undefined) return [];
  const containers = [...spec.containers, ...(spec.initContainers ?? [])];
  return items.flatMap((item) => {
    if (item.type === 'Pod')
      return check(item, { type: 'Pod', requests: podTotals(spec, 'requests'), limits: podTotals(spec, 'limits') });
    if (item.type !== 'Container') return [];
    return containers.flatMap(({ resources = {} }) =>
      check(item, { type: 'Container', requests: resources.requests ?? {}, limits: resources.limits ?? {} }),
    );
  });
}

function claimProblems(claim: PersistentVolumeClaim, items: readonly LimitRangeItem[]): string[] {
  const subject: Subject = {
    type: 'PersistentVolumeClaim',
    requests: claim.spec?.resources?.requests ?? {},
    limits: {},
    requestsOnly: true,
  };
  return items.filter((item) => item.type === 'PersistentVolumeClaim').flatMap((item) => check(item, subject));
}

function check(item: LimitRangeItem, subject: Subject): string[] {
  const failures = (
    bounds: Quantities | undefined,
    test: (name: string, bound: string) => string | undefined,
  ): string[] =>
    Object.entries(bounds ?? {})
      .map(([name, bound]) => test(name, bound))
      .filter((problem) => problem !== undefined);
  return [
    ...failures(item.min, (name, bound) => belowMinimum(subject, name, bound)),
    ...failures(item.max, (name, bound) => aboveMaximum(subject, name, bound)),
    ...failures(item.maxLimitRequestRatio, (name, bound) => aboveRatio(subject, name, bound)),
  ];
}

function belowMinimum({ type, requests, limits }: Subject, name: string, bound: string): string | undefined {
  const text = `minimum ${name} usage per ${type} is ${bound}`;
  const request = requests[name];
  const limit = limits[name];
  if (request === undefined) return `${text}.  No request is specified`;
  if (compareQuantities(request, bound) < 0) return `${text}, but request is ${request}`;
  return limit !== undefined && compareQuantities(limit, bound) < 0 ? `${text}, but limit is ${limit}` : undefined;
}

function aboveMaximum(
  { type, requests, limits, requestsOnly }: Subject,
  name: string,
  bound: string,
): string | undefined {
  const text = `maximum ${name} usage per ${type} is ${bound}`;
  const request = requests[name];
  const limit = limits[name];
  if (requestsOnly === true && request === undefined) return `${text}.  No request is specified`;
  if (requestsOnly !== true && limit === undefined) return `${text}.  No limit is specified`;
  if (limit !== undefined && compareQuantities(limit, bound) > 0) return `${text}, but limit is ${limit}`;
  return request !== undefined && compareQuantities(request, bound) > 0
    ? `${text}, but request is ${request}`
    : undefined;
}

function aboveRatio({ type, requests, limits }: Subject, name: string, bound: string): string | undefined {
  const text = `${name} max limit to request ratio per ${type} is ${bound}`;
  const request = requests[name];
  const limit = limits[name];
  if (request === undefined || isZeroQuantity(request)) return `${text}, but no request is specified or request is 0`;
  if (limit === undefined || isZeroQuantity(limit)) return `${text}, but no limit is specified or limit is 0`;
  const ratio = quantityAsFloat(limit) / quantityAsFloat(request);
  return ratio > quantityAsFloat(bound) ? `${text}, but provided ratio is ${ratio.toFixed(6)}` : undefined;
}
