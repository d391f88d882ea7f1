/** Validation of limit ranges. Upstream: apis/core/validation ValidateLimitRange. */
import { StepMeter, type Steps } from '../../base/steps.ts';
import { getOwn } from '../codec/own-property.ts';
import type { Field } from '../field-error.ts';
import type { LimitRange, LimitRangeItem } from '../gen/core-v1.ts';
import { isQualifiedName } from '../names.ts';
import { compareQuantities, quantityAsFloat } from '../quantity.ts';
import { isOvercommitAllowed, validateContainerResourceName, validateResourceName } from './resource-names.ts';

const LIMIT_TYPES = ['Container', 'Pod', 'PersistentVolumeClaim'];

/** The fields of a limit, in upstream's order. */
const PARTS = ['max', 'min', 'default', 'defaultRequest', 'maxLimitRequestRatio'] as const;

type Amounts = Readonly<Record<(typeof PARTS)[number], string | undefined>>;

const NAMES_PER_STEP = 500;

export function* validateLimitRange(range: LimitRange, field: Field): Steps<void> {
  const meter = new StepMeter(NAMES_PER_STEP);
  const seen = new Set<string>();
  for (const [index, limit] of (range.spec?.limits ?? []).entries()) {
    const place = field.at('spec').at('limits').item(index);
    validateType(limit.type, place.at('type'));
    if (seen.has(limit.type)) place.at('type').duplicate(limit.type);
    seen.add(limit.type);
    yield* validateLimit(limit, place, meter);
  }
}

function validateType(type: string, field: Field): void {
  const problems = isQualifiedName(type);
  field.complain(type, problems);
  if (problems.length === 0 && !type.includes('/') && !LIMIT_TYPES.includes(type))
    field.invalid(type, 'must be a standard limit type or fully qualified');
}

function* validateLimit(limit: LimitRangeItem, field: Field, meter: StepMeter): Steps<void> {
  const validateName =
    limit.type === 'Pod' || limit.type === 'Container' ? validateContainerResourceName : validateResourceName;
  const isOfPods = limit.type === 'Pod';
  const names = new Set<string>();
  for (const part of PARTS) {
    const listed = Object.keys(limit[part] ?? {});
    if (isOfPods && part.startsWith('default')) {
      if (listed.length > 0) field.at(part).forbidden("may not be specified when `type` is 'Pod'");
      continue;
    }
    for (const name of listed) {
      validateName(name, field.at(part).key(name));
      names.add(name);
      if (meter.endsStep(1)) yield;
    }
    if (part === 'defaultRequest') validateClaims(limit, field);
  }
  for (const name of names) {
    const amounts = Object.fromEntries(
      PARTS.map((part) => [part, isOfPods && part.startsWith('default') ? undefined : getOwn(limit[part] ?? {}, name)]),
    ) as Amounts;
    validateOrder(amounts, name, field);
    validateRatio(amounts, field.at('maxLimitRequestRatio').key(name));
    validateFixed(amounts, name, field);
    if (meter.endsStep(1)) yield;
  }
}

function validateClaims(limit: LimitRangeItem, field: Field): void {
  if (limit.type !== 'PersistentVolumeClaim') return;
  if (limit.min?.['storage'] === undefined && limit.max?.['storage'] === undefined)
    field.at('limits').required('either minimum or maximum storage value is required, but neither was provided');
}

function isGreater(a: string | undefined, b: string | undefined): boolean {
  return a !== undefined && b !== undefined && compareQuantities(a, b) > 0;
}

function validateOrder(amounts: Amounts, name: string, field: Field): void {
  const { min, max, default: standard, defaultRequest: request } = amounts;
  const place = (part: string) => field.at(part).key(name);
  if (isGreater(min, max)) place('min').invalid(min, `min value ${min} is greater than max value ${max}`);
  if (isGreater(min, request))
    place('defaultRequest').invalid(request, `min value ${min} is greater than default request value ${request}`);
  if (isGreater(request, max))
    place('defaultRequest').invalid(request, `default request value ${request} is greater than max value ${max}`);
  if (isGreater(request, standard))
    place('defaultRequest').invalid(
      request,
      `default request value ${request} is greater than default limit value ${standard}`,
    );
  // As upstream, these two errors quote the bound, not the default.
  if (isGreater(min, standard))
    place('default').invalid(min, `min value ${min} is greater than default value ${standard}`);
  if (isGreater(standard, max))
    place('default').invalid(max, `default value ${standard} is greater than max value ${max}`);
}

function validateRatio({ min, max, maxLimitRequestRatio: ratio }: Amounts, field: Field): void {
  if (ratio === undefined) return;
  if (isGreater('1', ratio)) field.invalid(ratio, `ratio ${ratio} is less than 1`);
  if (min === undefined || max === undefined) return;
  const most = quantityAsFloat(max) / quantityAsFloat(min);
  if (quantityAsFloat(ratio) > most) field.invalid(ratio, `ratio ${ratio} is greater than max/min = ${asGo(most)}`);
}

/** A number in the format of Go's `%f`. */
function asGo(value: number): string {
  if (Number.isFinite(value)) return value.toFixed(6);
  return value > 0 ? '+Inf' : '-Inf';
}

/** Devices and hugepages cannot be overcommitted: the request must equal the limit. */
function validateFixed({ default: standard, defaultRequest: request }: Amounts, name: string, field: Field): void {
  if (standard === undefined || request === undefined || isOvercommitAllowed(name)) return;
  if (compareQuantities(standard, request) !== 0)
    field
      .at('defaultRequest')
      .key(name)
      .invalid(request, `default value ${standard} must equal to defaultRequest value ${request} in ${name}`);
}
