/** Validation of resource requirements. Upstream: apis/core/validation validateResourceRequirements, validatePodResources. */
import { getOwn } from '../codec/own-property.ts';
import type { Field } from '../field-error.ts';
import type { PodSpec, ResourceClaim, ResourceRequirements } from '../gen/core-v1.ts';
import { isDns1123Label } from '../names.ts';
import { podAmounts } from '../pod-amounts.ts';
import { compareQuantities, tryParseQuantity } from '../quantity.ts';
import {
  HUGE_PAGES_PREFIX,
  isHugePages,
  isOvercommitAllowed,
  validateContainerResourceName,
  validateResourceName,
  validateResourceQuantity,
} from './resource-names.ts';

type Amounts = Readonly<Record<string, string>>;

/** The rules for resource requirements. */
export interface RequirementRules {
  /** The names of the pod's claims. */
  readonly claims: ReadonlySet<string>;
  readonly validateName: (name: string, field: Field) => unknown;
}

/** Validates limits, requests and claims of a container; claims must be among the pod's. */
export function validateResourceRequirements(
  resources: ResourceRequirements | undefined,
  claims: ReadonlySet<string>,
  field: Field,
): void {
  validateRequirements(resources ?? {}, { claims, validateName: validateContainerResourceName }, field);
}

function validateRequirements(resources: ResourceRequirements, rules: RequirementRules, field: Field): void {
  const { limits = {}, requests = {}, claims = [] } = resources;
  if (hasTooMany(limits, field.at('limits')) || hasTooMany(requests, field.at('requests'))) return;
  validateAmounts(limits, rules, field.at('limits'));
  const requested = field.at('requests');
  for (const [name, quantity] of Object.entries(requests)) {
    validateAmount(name, quantity, { rules, field: requested });
    validateAgainstLimit(name, { request: quantity, limit: getOwn(limits, name) }, field);
  }
  const names = [...Object.keys(limits), ...Object.keys(requests)];
  if (names.some(isHugePages) && !names.includes('cpu') && !names.includes('memory'))
    field.forbidden('HugePages require cpu or memory');
  validateClaimNames(claims, rules.claims, field.at('claims'));
}

/** No node has this many resources, and checking more would delay other requests. Upstream has no such limit. */
const MAX_RESOURCES = 1000;

function hasTooMany(amounts: Amounts, field: Field): boolean {
  const count = Object.keys(amounts).length;
  if (count > MAX_RESOURCES) field.tooMany(count, MAX_RESOURCES);
  return count > MAX_RESOURCES;
}

function validateAmounts(amounts: Amounts, rules: RequirementRules, field: Field): void {
  for (const [name, quantity] of Object.entries(amounts)) validateAmount(name, quantity, { rules, field });
}

function validateAmount(
  name: string,
  quantity: string,
  { rules, field }: { rules: RequirementRules; field: Field },
): void {
  const place = field.key(name);
  rules.validateName(name, place);
  validateResourceQuantity(name, quantity, place);
  if (isHugePages(name)) validatePages(name, quantity, place);
}

/** The name must contain a valid page size, and the amount must be a multiple of it. */
function validatePages(name: string, quantity: string, field: Field): void {
  const page = tryParseQuantity(name.slice(HUGE_PAGES_PREFIX.length))?.nanos ?? 0n;
  const amount = tryParseQuantity(quantity)?.nanos ?? 0n;
  const isSize = page > 0n && page % 1_000_000_000n === 0n;
  if (!isSize || amount % page !== 0n)
    field.invalid(quantity, `${quantity} is not positive integer multiple of ${name}`);
}

function validateAgainstLimit(
  name: string,
  { request, limit }: { request: string; limit: string | undefined },
  field: Field,
): void {
  const isExact = !isOvercommitAllowed(name);
  if (limit === undefined) {
    if (isExact) field.at('limits').required('Limit must be set for non overcommitable resources');
    return;
  }
  if (tryParseQuantity(request) === undefined || tryParseQuantity(limit) === undefined) return;
  const order = compareQuantities(request, limit);
  if (isExact && order !== 0) field.at('requests').invalid(request, `must be equal to ${name} limit of ${limit}`);
  else if (order > 0) field.at('requests').invalid(request, `must be less than or equal to ${name} limit of ${limit}`);
}

/** A claim may be used as a whole or by its requests, each at most once. */
function validateClaimNames(claims: readonly ResourceClaim[], known: ReadonlySet<string>, field: Field): void {
  const seen = new Set<string>();
  const requestsOf = new Map<string, number>();
  let others: string | undefined;
  for (const [index, { name = '', request = '' }] of claims.entries()) {
    const place = field.item(index);
    if (name === '') {
      place.required();
      continue;
    }
    if (seen.has(name)) place.duplicate(name);
    else {
      if (request !== '') place.at('request').complain(request, isDns1123Label(request));
      const key = request === '' ? name : `${name}/${request}`;
      if (seen.has(key)) place.duplicate(key);
      else if (request !== '') requestsOf.set(name, (requestsOf.get(name) ?? 0) + 1);
      else for (let left = requestsOf.get(name) ?? 0; left > 0; left--) place.duplicate(name);
      seen.add(key);
    }
    if (known.has(name)) continue;
    others ??= known.size === 0 ? ' which is empty' : `: ${[...known].toSorted().join(', ')}`;
    place.notFound(name, `must be one of the names in pod.spec.resourceClaims${others}`);
  }
}

const POD_LEVEL = ['cpu', 'memory'];

function validatePodResourceName(name: string, field: Field): void {
  if (validateResourceName(name, field) && !POD_LEVEL.includes(name) && !isHugePages(name))
    field.notSupported(name, ['cpu', 'hugepages-', 'memory']);
}

/** Validates pod-level resources. */
export function validatePodResources(spec: PodSpec, claims: ReadonlySet<string>, field: Field): void {
  const { resources } = spec;
  if (resources === undefined) return;
  if (spec.os?.name === 'windows') return field.forbidden('may not be set for a windows pod');
  if (resources.claims !== undefined) field.at('claims').forbidden('claims may not be set for Resources at pod-level');
  validateRequirements(resources, { claims, validateName: validatePodResourceName }, field);
  validateAgainstContainers(spec, resources, field);
}

function validateAgainstContainers(spec: PodSpec, resources: ResourceRequirements, field: Field): void {
  for (const [part, word] of [
    ['requests', 'requests'],
    ['limits', 'limits'],
  ] as const) {
    const amounts = resources[part] ?? {};
    const sums = podAmounts(spec, part, (name) => Object.hasOwn(amounts, name));
    for (const [name, quantity] of Object.entries(amounts)) {
      if (part === 'limits' && !isHugePages(name)) continue;
      const sum = sums.get(name) ?? '0';
      if (compareQuantities(sum, quantity) > 0)
        field
          .at(part)
          .key(name)
          .invalid(quantity, `must be greater than or equal to aggregate container ${word} of ${sum}`);
    }
  }
  for (const [index, container] of (spec.containers ?? []).entries())
    for (const [name, limit] of Object.entries(container.resources?.limits ?? {})) {
      const most = getOwn(resources.limits ?? {}, name);
      if (most !== undefined && compareQuantities(limit, most) > 0)
        field
          .at('containers')
          .item(index)
          .key(name)
          .at('limits')
          .invalid(limit, `must be less than or equal to pod limits of ${most}`);
    }
}
