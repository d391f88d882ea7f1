/** Resource claims, templates and slices, the basics; device selectors are compiled by the scheduler. Upstream: apis/resource/validation. */
import type { Field } from '../field-error.ts';
import type {
  DeviceClass,
  DeviceSubRequest,
  ExactDeviceRequest,
  ResourceClaim,
  ResourceClaimSpec,
  ResourceClaimTemplate,
  ResourceSlice,
} from '../gen/resource-v1.ts';
import { isDns1123Label, isDns1123Subdomain, isQualifiedName } from '../names.ts';
import { validateImmutable, validateOptionalChoice } from './common.ts';
import { isExtendedResource } from './pod-resources.ts';
import { validateCSIDriverName } from './storage.ts';

const MAX_REQUESTS = 32;

function validateRequest(request: ExactDeviceRequest | DeviceSubRequest, field: Field): void {
  if ((request.deviceClassName ?? '') === '') field.at('deviceClassName').required();
  else field.at('deviceClassName').complain(request.deviceClassName, isDns1123Subdomain(request.deviceClassName));
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
    if ((request.name ?? '') === '') at.at('name').required();
    else at.at('name').complain(request.name, isDns1123Label(request.name));
    if (names.has(request.name)) at.at('name').duplicate(request.name);
    names.add(request.name);
    const alternatives = request.firstAvailable ?? [];
    if (request.exactly === undefined && alternatives.length === 0)
      at.required('exactly one of `exactly` or `firstAvailable` is required');
    if (request.exactly !== undefined && alternatives.length > 0)
      at.invalid(request, 'exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set');
    if (request.exactly !== undefined) validateRequest(request.exactly, at.at('exactly'));
    for (const [sub, alternative] of alternatives.entries())
      validateRequest(alternative, at.at('firstAvailable').item(sub));
  }
}

/** A class: the resource it stands for is one that containers may ask for. */
export function validateDeviceClass({ spec }: DeviceClass, field: Field): void {
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
    const place = spec.at('devices').item(index).at('name');
    if ((device.name ?? '') === '') place.required();
    else place.complain(device.name, isDns1123Label(device.name));
    if (names.has(device.name)) place.duplicate(device.name);
    names.add(device.name);
  }
}
