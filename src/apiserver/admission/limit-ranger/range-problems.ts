/** What limit ranges find wrong with an object. */
import type { LimitRangeItem, PersistentVolumeClaim, Pod } from '../../../api/gen/core-v1.ts';
import { compareQuantities, isZeroQuantity, quantityAsFloat } from '../../../api/quantity.ts';
import { podTotals, type Quantities } from '../../../component-helpers/quota/resource-lists.ts';
import type { AdmissionAttributes } from '../contract.ts';

/** Amounts that the items of one type bound. */
export interface Subject {
  readonly type: string;
  readonly requests: Quantities;
  readonly limits: Quantities;
  /** Volumes have requests only. */
  readonly requestsOnly?: boolean;
}

/** The subjects of an object for the items of a type. */
export function subjectsOf({ resource, object }: AdmissionAttributes): (type: string) => readonly Subject[] {
  const byType = new Map<string, readonly Subject[]>();
  const make = (type: string): readonly Subject[] =>
    resource.resource === 'pods'
      ? podSubjects(object as Pod, type)
      : claimSubjects(object as PersistentVolumeClaim, type);
  return (type) => {
    let subjects = byType.get(type);
    if (subjects === undefined) byType.set(type, (subjects = make(type)));
    return subjects;
  };
}

function podSubjects({ spec }: Pod, type: string): readonly Subject[] {
  if (spec === undefined) return [];
  if (type === 'Pod') return [{ type, requests: podTotals(spec, 'requests'), limits: podTotals(spec, 'limits') }];
  if (type !== 'Container') return [];
  return [...spec.containers, ...(spec.initContainers ?? [])].map(
    ({ resources: { requests = {}, limits = {} } = {} }) => ({
      type,
      requests,
      limits,
    }),
  );
}

function claimSubjects({ spec }: PersistentVolumeClaim, type: string): readonly Subject[] {
  if (type !== 'PersistentVolumeClaim') return [];
  return [{ type, requests: spec?.resources?.requests ?? {}, limits: {}, requestsOnly: true }];
}

export function* problemsWith({ min, max, maxLimitRequestRatio }: LimitRangeItem, subject: Subject): Generator<string> {
  yield* failures(min, (name, bound) => belowMinimum(subject, name, bound));
  yield* failures(max, (name, bound) => aboveMaximum(subject, name, bound));
  yield* failures(maxLimitRequestRatio, (name, bound) => aboveRatio(subject, name, bound));
}

function* failures(
  bounds: Quantities | undefined,
  test: (name: string, bound: string) => string | undefined,
): Generator<string> {
  for (const [name, bound] of Object.entries(bounds ?? {})) {
    const problem = test(name, bound);
    if (problem !== undefined) yield problem;
  }
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
