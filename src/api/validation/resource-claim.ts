/** Validation of resource claims, claim templates and device classes. Upstream: apis/resource/validation. */
import { deepEqual } from '../../base/equal.ts';
import type { Steps } from '../../base/steps.ts';
import type { Field } from '../field-error.ts';
import type {
  DeviceClaim,
  DeviceSelector,
  DeviceClass,
  DeviceConstraint,
  DeviceRequest,
  DeviceSubRequest,
  ExactDeviceRequest,
  ResourceClaim,
  ResourceClaimTemplate,
} from '../gen/resource-v1.ts';
import { FIELD_IMMUTABLE_TEXT, validateAnnotations, validateLabels } from '../meta-validation.ts';
import { isDns1123Subdomain, isQualifiedName } from '../names.ts';
import { validateImmutableStruct } from './common.ts';
import {
  validateDeviceConfiguration,
  validateDeviceFullName,
  compileSelectorSteps,
  validateDeviceSelectors,
  validateDeviceTolerations,
  validateLabelLikeName,
  validateList,
} from './device-parts.ts';
import { internalForm } from './internal-form.ts';
import { isExtendedResource } from './resource-names.ts';

const MAX_REQUESTS = 32;
const MAX_ALTERNATIVES = 8;
const MAX_CONSTRAINTS = 32;
export const MAX_CONFIGS = 32;

export type Names = ReadonlySet<string>;
export const itself = (text: string): string => text;

/** Names of requests, and of subrequests as `request/subrequest`. */
export function requestNames(claim: DeviceClaim | undefined): Names {
  return new Set(
    (claim?.requests ?? []).flatMap(({ name, firstAvailable = [] }) => [
      name,
      ...firstAvailable.map((alternative) => `${name}/${alternative.name}`),
    ]),
  );
}

function validateDeviceClaim(claim: DeviceClaim | undefined, field: Field): void {
  const names = requestNames(claim);
  validateList(claim?.requests, field.at('requests'), {
    max: MAX_REQUESTS,
    item: validateRequest,
    key: ({ name }) => name ?? '',
  });
  validateList(claim?.constraints, field.at('constraints'), {
    max: MAX_CONSTRAINTS,
    item: (constraint, at) => validateConstraint(constraint, names, at),
  });
  validateList(claim?.config, field.at('config'), {
    max: MAX_CONFIGS,
    item(config, at) {
      validateReferences(config.requests, names, at.at('requests'));
      validateDeviceConfiguration(config, at);
    },
  });
}

function validateRequest(request: DeviceRequest, field: Field): void {
  validateLabelLikeName(request.name, field.at('name'));
  const { exactly, firstAvailable = [] } = request;
  if (exactly === undefined && firstAvailable.length === 0)
    field.required('exactly one of `exactly` or `firstAvailable` is required');
  else if (exactly !== undefined && firstAvailable.length > 0)
    field.invalid(null, 'exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set');
  else if (exactly !== undefined) validateSubRequest(exactly, field.at('exactly'));
  else
    validateList(firstAvailable, field.at('firstAvailable'), {
      max: MAX_ALTERNATIVES,
      item(alternative, at) {
        validateLabelLikeName(alternative.name, at.at('name'));
        validateSubRequest(alternative, at);
      },
      key: ({ name }) => name ?? '',
    });
}

function validateSubRequest(subRequest: ExactDeviceRequest | DeviceSubRequest, field: Field): void {
  const { deviceClassName = '', allocationMode = '', count = 0 } = subRequest;
  if (deviceClassName === '') field.at('deviceClassName').required();
  else field.at('deviceClassName').complain(deviceClassName, isDns1123Subdomain(deviceClassName));
  validateDeviceSelectors(subRequest.selectors, field.at('selectors'));
  if (!['All', 'ExactCount'].includes(allocationMode))
    field.at('allocationMode').notSupported(allocationMode, ['All', 'ExactCount']);
  if (allocationMode === 'ExactCount' && count <= 0) field.at('count').invalid(count, 'must be greater than zero');
  if (allocationMode === 'All' && count !== 0)
    field.at('count').invalid(count, "must not be specified when allocationMode is 'All'");
  validateDeviceTolerations(subRequest.tolerations, field.at('tolerations'));
}

function validateConstraint(constraint: DeviceConstraint, names: Names, field: Field): void {
  const { matchAttribute, distinctAttribute } = constraint;
  validateReferences(constraint.requests, names, field.at('requests'));
  if (matchAttribute !== undefined) validateDeviceFullName(matchAttribute, field.at('matchAttribute'));
  else if (distinctAttribute !== undefined) validateDeviceFullName(distinctAttribute, field.at('distinctAttribute'));
  else
    field.required('exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set');
}

export function validateReferences(references: readonly string[] | undefined, names: Names, field: Field): void {
  validateList(references, field, {
    max: MAX_REQUESTS,
    item: (reference, at) => validateReference(reference, names, at),
    key: itself,
  });
}

const REFERENCE_TEXT =
  "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";

export function validateReference(reference: string | undefined, names: Names, field: Field): void {
  const segments = (reference ?? '').split('/');
  if (segments.length <= 2) for (const segment of segments) validateLabelLikeName(segment, field);
  if (!names.has(reference ?? '')) field.invalid(reference ?? '', REFERENCE_TEXT);
}

/** Validates a device class. On updates, unchanged selectors and configurations are not checked again. */
export function validateDeviceClass({ spec }: DeviceClass, field: Field, old?: DeviceClass): void {
  const at = field.at('spec');
  if (old === undefined || !deepEqual(spec?.selectors, old.spec?.selectors))
    validateDeviceSelectors(spec?.selectors, at.at('selectors'));
  if (old === undefined || !deepEqual(spec?.config, old.spec?.config))
    validateList(spec?.config, at.at('config'), { max: MAX_CONFIGS, item: validateDeviceConfiguration });
  const name = spec?.extendedResourceName;
  if (name === undefined || (isQualifiedName(name).length === 0 && isExtendedResource(name))) return;
  at.at('extendedResourceName').invalid(name, 'must be a valid extended resource name');
}

/** Compiles the selectors of a class in steps, before validation. */
export function prepareDeviceClass({ spec }: DeviceClass): Steps<void> {
  return compileSelectorSteps([spec?.selectors]);
}

/** Compiles the selectors of a new claim in steps; the spec of an existing one is immutable. */
export function* prepareResourceClaim({ spec }: ResourceClaim, old: ResourceClaim | undefined): Steps<void> {
  if (old === undefined) yield* compileSelectorSteps(selectorsOf(spec?.devices));
}

export function prepareResourceClaimTemplate({ spec }: ResourceClaimTemplate): Steps<void> {
  return compileSelectorSteps(selectorsOf(spec?.spec?.devices));
}

/** All lists of selectors, except those of requests and subrequests beyond the limit. */
function selectorsOf({ requests = [] }: DeviceClaim = {}): (readonly DeviceSelector[] | undefined)[] {
  if (requests.length > MAX_REQUESTS) return [];
  return requests.flatMap(({ exactly, firstAvailable = [] }) => [
    exactly?.selectors,
    ...(firstAvailable.length > MAX_ALTERNATIVES ? [] : firstAvailable).map(({ selectors }) => selectors),
  ]);
}

export function validateResourceClaim(claim: ResourceClaim, field: Field): void {
  validateDeviceClaim(claim.spec?.devices, field.at('spec').at('devices'));
}

/** The spec of a claim is immutable. */
export function validateResourceClaimUpdate(claim: ResourceClaim, old: ResourceClaim, field: Field): void {
  validateImmutableStruct([claim.spec, old.spec], 'resource.v1.ResourceClaimSpec', field.at('spec'));
}

export function validateResourceClaimTemplate(template: ResourceClaimTemplate, field: Field): void {
  const { labels, annotations } = template.spec?.metadata ?? {};
  const metadata = field.at('spec').at('metadata');
  validateAnnotations(annotations, metadata.at('annotations'));
  validateLabels(labels, metadata.at('labels'));
  validateDeviceClaim(template.spec?.spec?.devices, field.at('spec').at('spec').at('devices'));
}

/** The spec of a template is immutable. */
export function validateResourceClaimTemplateUpdate(
  template: ResourceClaimTemplate,
  old: ResourceClaimTemplate,
  field: Field,
): void {
  validateResourceClaimTemplate(template, field);
  if (deepEqual(template.spec, old.spec)) return;
  // In upstream's internal type the metadata's fields are embedded.
  const { metadata, spec = {} } = template.spec ?? {};
  field
    .at('spec')
    .invalid({ ...metadata, Spec: internalForm(spec, 'resource.v1.ResourceClaimSpec') }, FIELD_IMMUTABLE_TEXT);
}
