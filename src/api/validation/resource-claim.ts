/** Resource claims, templates and slices, the basics; device selectors are compiled by the scheduler. Upstream: apis/resource/validation. */
import type { Field } from '../field-error.ts';
import type {
  DeviceClaim,
  DeviceClass,
  DeviceConstraint,
  DeviceSelector,
  DeviceSubRequest,
  ExactDeviceRequest,
  OpaqueDeviceConfiguration,
  ResourceClaim,
  ResourceClaimSpec,
  ResourceClaimTemplate,
  ResourceSlice,
} from '../gen/resource-v1.ts';
import { isDns1123Label, isDns1123Subdomain, isQualifiedName } from '../names.ts';
import { validateImmutable, validateOptionalChoice } from './common.ts';
import { isExtendedResource } from './pod-resources.ts';
import { validateCSIDriverName } from './storage.ts';

/** Of requests, and of most other lists of a claim. */
export const MAX_REQUESTS = 32;
const MAX_ALTERNATIVES = 8;
const MAX_DEVICES = 128;
/** Where devices have taints or share counters. */
const MAX_ADVANCED_DEVICES = 64;
const MAX_EXPRESSION = 10 * 1024;
const MAX_PARAMETERS = 10 * 1024;

/** The requests of a claim, each with its alternatives. */
export type RequestNames = ReadonlyMap<string, readonly string[]>;

/** What others may refer to. */
export function namesOfRequests(spec: ResourceClaimSpec | undefined): RequestNames {
  const requests = spec?.devices?.requests ?? [];
  return new Map(requests.map(({ name, firstAvailable = [] }) => [name, firstAvailable.map((sub) => sub.name)]));
}

/** Names of requests, or of alternatives within them. */
export function validateRequestReferences(
  references: readonly string[] | undefined,
  names: RequestNames,
  placeOf: (index: number) => Field,
): void {
  for (const [index, reference] of (references ?? []).entries()) {
    const place = placeOf(index);
    const [request = '', alternative, ...more] = (reference ?? '').split('/');
    const isKnown = names.has(request) && (alternative === undefined || names.get(request)!.includes(alternative));
    if (more.length > 0 || !isKnown)
      place.invalid(
        reference,
        "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'",
      );
    if (references!.indexOf(reference) < index) place.duplicate(reference);
  }
}

/** A raw object of some size. */
export function validateJsonObject(value: unknown, max: number, field: Field): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    field.invalid(value, 'must be a valid JSON object');
  else if (JSON.stringify(value).length > max) field.tooLong(max);
}

/** A driver's own settings. */
export function validateConfiguration({ opaque }: { opaque?: OpaqueDeviceConfiguration }, field: Field): void {
  const place = field.at('opaque');
  if (opaque === undefined) return place.required();
  validateCSIDriverName(opaque.driver, place.at('driver'));
  if (opaque.parameters === undefined) place.at('parameters').required();
  else validateJsonObject(opaque.parameters, MAX_PARAMETERS, place.at('parameters'));
}

function validateSelectors(selectors: readonly DeviceSelector[] | undefined, field: Field): void {
  if ((selectors?.length ?? 0) > MAX_REQUESTS) field.tooMany(selectors!.length, MAX_REQUESTS);
  for (const [index, { cel }] of (selectors ?? []).entries()) {
    const place = field.item(index).at('cel');
    if (cel === undefined) place.required();
    else if (cel.expression.length > MAX_EXPRESSION) place.at('expression').tooLong(MAX_EXPRESSION);
  }
}

function validateConstraint(constraint: DeviceConstraint, names: RequestNames, field: Field): void {
  validateRequestReferences(constraint.requests, names, (index) => field.at('requests').item(index));
  const { matchAttribute, distinctAttribute } = constraint;
  const place = field.at(matchAttribute === undefined ? 'distinctAttribute' : 'matchAttribute');
  const attribute = matchAttribute ?? distinctAttribute;
  if (attribute === undefined)
    field.required('exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set');
  else validateAttributeName(attribute, place);
}

/** A domain and an identifier. */
function validateAttributeName(name: string, field: Field): void {
  const slash = name.indexOf('/');
  if (slash < 0) field.invalid(name, 'must include a domain');
  else field.complain(name.slice(0, slash), isDns1123Subdomain(name.slice(0, slash)));
  const identifier = name.slice(slash + 1);
  if (!/^[A-Za-z_]\w*$/.test(identifier))
    field.invalid(
      identifier,
      "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')",
    );
}

/** What a claim asks beside its requests. */
function validateDemands({ constraints = [], config = [] }: DeviceClaim, names: RequestNames, field: Field): void {
  if (constraints.length > MAX_REQUESTS) field.at('constraints').tooMany(constraints.length, MAX_REQUESTS);
  for (const [index, constraint] of constraints.entries())
    validateConstraint(constraint, names, field.at('constraints').item(index));
  if (config.length > MAX_REQUESTS) field.at('config').tooMany(config.length, MAX_REQUESTS);
  for (const [index, one] of config.entries()) {
    const at = field.at('config').item(index);
    validateRequestReferences(one.requests, names, (of) => at.at('requests').item(of));
    validateConfiguration(one, at);
  }
}

/** A name as labels of DNS are, once in its list. */
function validateName(name: string | undefined, seen: Set<string>, field: Field): void {
  if ((name ?? '') === '') field.required();
  else field.complain(name, isDns1123Label(name!));
  if (seen.has(name ?? '')) field.duplicate(name);
  seen.add(name ?? '');
}

function validateRequest(request: ExactDeviceRequest | DeviceSubRequest, field: Field): void {
  if ((request.deviceClassName ?? '') === '') field.at('deviceClassName').required();
  else field.at('deviceClassName').complain(request.deviceClassName, isDns1123Subdomain(request.deviceClassName));
  validateSelectors(request.selectors, field.at('selectors'));
  validateOptionalChoice(request.allocationMode, ['All', 'ExactCount'], field.at('allocationMode'));
  const { allocationMode, count = 0 } = request;
  if (allocationMode === 'ExactCount' && count <= 0) field.at('count').invalid(count, 'must be greater than zero');
  if (allocationMode === 'All' && count !== 0)
    field.at('count').invalid(count, "must not be specified when allocationMode is 'All'");
}

function validateClaimSpec(spec: ResourceClaimSpec | undefined, field: Field): void {
  const requests = spec?.devices?.requests ?? [];
  const place = field.at('devices').at('requests');
  if (requests.length > MAX_REQUESTS) place.tooMany(requests.length, MAX_REQUESTS);
  const names = new Set<string>();
  for (const [index, request] of requests.entries()) {
    const at = place.item(index);
    validateName(request.name, names, at.at('name'));
    const alternatives = request.firstAvailable ?? [];
    if (request.exactly === undefined && alternatives.length === 0)
      at.required('exactly one of `exactly` or `firstAvailable` is required');
    if (request.exactly !== undefined && alternatives.length > 0)
      at.invalid(request, 'exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set');
    if (request.exactly !== undefined) validateRequest(request.exactly, at.at('exactly'));
    validateAlternatives(alternatives, at.at('firstAvailable'));
  }
  validateDemands(spec?.devices ?? {}, namesOfRequests(spec), field.at('devices'));
}

function validateAlternatives(alternatives: readonly DeviceSubRequest[], field: Field): void {
  if (alternatives.length > MAX_ALTERNATIVES) field.tooMany(alternatives.length, MAX_ALTERNATIVES);
  const names = new Set<string>();
  for (const [index, alternative] of alternatives.entries()) {
    validateName(alternative.name, names, field.item(index).at('name'));
    validateRequest(alternative, field.item(index));
  }
}

/** A class: the resource it stands for is one that containers may ask for. */
export function validateDeviceClass({ spec }: DeviceClass, field: Field): void {
  validateSelectors(spec?.selectors, field.at('spec').at('selectors'));
  for (const [index, config] of (spec?.config ?? []).entries())
    validateConfiguration(config, field.at('spec').at('config').item(index));
  const name = spec?.extendedResourceName;
  if (name === undefined || (isQualifiedName(name).length === 0 && isExtendedResource(name))) return;
  field.at('spec').at('extendedResourceName').invalid(name, 'must be a valid extended resource name');
}

/** A claim. */
export function validateResourceClaim(claim: ResourceClaim, field: Field): void {
  validateClaimSpec(claim.spec, field.at('spec'));
}

/** The spec of a claim never changes. */
export function validateResourceClaimUpdate(claim: ResourceClaim, old: ResourceClaim, field: Field): void {
  validateImmutable(claim.spec, old.spec, field.at('spec'));
}

/** A template. */
export function validateResourceClaimTemplate(template: ResourceClaimTemplate, field: Field): void {
  validateClaimSpec(template.spec?.spec, field.at('spec').at('spec'));
}

/** The spec of a template never changes. */
export function validateResourceClaimTemplateUpdate(
  template: ResourceClaimTemplate,
  old: ResourceClaimTemplate,
  field: Field,
): void {
  validateImmutable(template.spec, old.spec, field.at('spec'));
}

/** A slice: one driver, one pool, one way to say which nodes reach it. */
export function validateResourceSlice(slice: ResourceSlice, field: Field): void {
  const spec = field.at('spec');
  const {
    driver,
    pool,
    nodeName = '',
    nodeSelector,
    allNodes = false,
    perDeviceNodeSelection = false,
  } = slice.spec ?? {};
  validateCSIDriverName(driver, spec.at('driver'));
  if ((pool?.name ?? '') === '') spec.at('pool').at('name').required();
  if ((pool?.resourceSliceCount ?? 0) <= 0)
    spec
      .at('pool')
      .at('resourceSliceCount')
      .invalid(pool?.resourceSliceCount ?? 0, 'must be greater than zero');
  const ways = [nodeName !== '', nodeSelector !== undefined, allNodes, perDeviceNodeSelection].filter(Boolean).length;
  const text = 'exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required';
  if (ways === 0) spec.required(text);
  else if (ways > 1) spec.invalid(slice.spec, `${text}, but multiple fields are set`);
  const names = new Set<string>();
  for (const [index, device] of (slice.spec?.devices ?? []).entries()) {
    validateName(device.name, names, spec.at('devices').item(index).at('name'));
  }
  const { devices = [], sharedCounters } = slice.spec ?? {};
  const isAdvanced = devices.some(
    ({ taints = [], consumesCounters = [] }) => taints.length + consumesCounters.length > 0,
  );
  const most = isAdvanced ? MAX_ADVANCED_DEVICES : MAX_DEVICES;
  if (devices.length > most) spec.at('devices').tooMany(devices.length, most);
  if (sharedCounters !== undefined && slice.spec?.devices !== undefined)
    spec.invalid('', 'only one of `sharedCounters` or `devices` is allowed');
}

/** A slice stays with its driver, pool and node. */
export function validateResourceSliceUpdate(slice: ResourceSlice, old: ResourceSlice, field: Field): void {
  validateResourceSlice(slice, field);
  const spec = field.at('spec');
  validateImmutable(slice.spec?.pool?.name, old.spec?.pool?.name, spec.at('pool').at('name'));
  validateImmutable(slice.spec?.driver, old.spec?.driver, spec.at('driver'));
  validateImmutable(slice.spec?.nodeName, old.spec?.nodeName, spec.at('nodeName'));
}
