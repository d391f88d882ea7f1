/** Validation of custom resource definitions. Upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation. */
import type { Field } from '../field-error.ts';
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionNames,
  CustomResourceDefinitionVersion,
  JSONSchemaProps,
} from '../gen/apiextensions-v1.ts';
import { isDns1035Label, isDns1123Subdomain } from '../names.ts';
import { API_APPROVED_ANNOTATION, apiApprovalOf, isProtectedGroup } from './api-approval.ts';
import { validateChoice, validateImmutable } from './common.ts';
import {
  type PartChecks,
  type SchemaRules,
  type SharedPart,
  sharedParts,
  validateParts,
} from './custom-resource-version.ts';
import { partsOf, validateDefinitionBudget } from './definition-budget.ts';
import { internalForm } from './internal-form.ts';
import { validateReviewVersions } from './review-versions.ts';
import { hasUnknownDefaults } from './schema-defaults.ts';
import { validateWebhookClient } from './webhook-client.ts';

function label(field: Field, name: string | undefined): void {
  const errors = (name ?? '') === '' ? [] : isDns1035Label(name!);
  if (errors.length > 0) field.invalid(name, errors.join(','));
}

function mixedCase(field: Field, name: string | undefined): void {
  const errors = (name ?? '') === '' ? [] : isDns1035Label(name!.toLowerCase());
  if (errors.length > 0) field.invalid(name, `may have mixed case, but should otherwise match: ${errors.join(',')}`);
}

function validateNames(names: CustomResourceDefinitionNames, field: Field): void {
  label(field.at('plural'), names.plural);
  label(field.at('singular'), names.singular);
  mixedCase(field.at('kind'), names.kind);
  mixedCase(field.at('listKind'), names.listKind);
  for (const [index, name] of (names.shortNames ?? []).entries())
    field
      .at('shortNames')
      .item(index)
      .complain(name, joinProblems(isDns1035Label(name)));
  if ((names.kind ?? '') !== '' && names.kind === names.listKind)
    field.at('listKind').invalid(names.listKind, 'kind and listKind may not be the same');
  for (const [index, name] of (names.categories ?? []).entries())
    field
      .at('categories')
      .item(index)
      .complain(name, joinProblems(isDns1035Label(name)));
}

function validateVersions(definition: CustomResourceDefinition, field: Field, checks: PartChecks): void {
  const { versions = [] } = definition.spec;
  for (const [index, version] of versions.entries()) {
    const place = field.item(index);
    place.at('name').complain(version.name ?? '', joinProblems(isDns1035Label(version.name ?? '')));
    validateWarning(version, place.at('deprecationWarning'));
    if (checks.fits) validateParts(version, (part) => (checks.shared.has(part) ? undefined : place.at(part)), checks);
  }
  const shown = (): unknown => definition.spec.versions?.map((version) => shownVersion(version, checks.shared)) ?? null;
  if (new Set(versions.map(({ name }) => name)).size !== versions.length)
    field.invalid(shown(), 'must contain unique version names');
  if (versions.filter(({ storage }) => storage).length !== 1)
    field.invalid(shown(), 'must have exactly one version marked as storage version');
}

/** A version in upstream's internal form, without the parts that all versions share. */
function shownVersion(version: CustomResourceDefinitionVersion, shared: ReadonlySet<SharedPart>): unknown {
  const own = Object.fromEntries(Object.entries(version).filter(([name]) => !shared.has(name as SharedPart)));
  return internalForm(own, 'apiextensions.v1.CustomResourceDefinitionVersion');
}

function joinProblems(problems: readonly string[]): string[] {
  return problems.length === 0 ? [] : [problems.join(',')];
}

const MAX_WARNING = 256;

function validateWarning(
  { deprecated, deprecationWarning: warning }: CustomResourceDefinitionVersion,
  field: Field,
): void {
  if (warning === undefined) return;
  if (deprecated !== true) return field.invalid(warning, 'can only be set for deprecated versions');
  if (Buffer.byteLength(warning) > MAX_WARNING) field.invalid(warning, `must be <= ${MAX_WARNING} characters long`);
  if (warning === '') field.invalid(warning, 'must not be an empty string');
  const bad = /\p{C}/u.exec(warning)?.index;
  if (bad !== undefined)
    field.invalid(
      warning,
      `must only contain printable UTF-8 characters; non-printable character found at index ${Buffer.byteLength(warning.slice(0, bad))}`,
    );
}

function validateConversion(definition: CustomResourceDefinition, field: Field): void {
  const { conversion } = definition.spec;
  if (conversion === undefined) return;
  validateChoice(conversion.strategy, ['None', 'Webhook'], field.at('strategy'));
  const client = conversion.webhook?.clientConfig;
  const versions = conversion.webhook?.conversionReviewVersions ?? [];
  const [clientField, versionsField] = [field.at('webhookClientConfig'), field.at('conversionReviewVersions')];
  if (conversion.strategy !== 'Webhook') {
    const text = 'should not be set when strategy is not set to Webhook';
    if (client !== undefined) clientField.forbidden(text);
    if (versions.length > 0) versionsField.forbidden(text);
    return;
  }
  if (client === undefined) clientField.required('required when strategy is set to Webhook');
  else validateWebhookClient(client, clientField);
  validateReviewVersions(versions, versionsField);
}

function validateStoredVersions({ spec, status }: CustomResourceDefinition, field: Field): void {
  const stored = status?.storedVersions ?? [];
  if (stored.length === 0) return field.invalid(null, 'must have at least one stored version');
  for (const { name, storage } of spec.versions ?? [])
    if (storage && !stored.includes(name)) field.invalid(stored, `must have the storage version ${name}`);
  const names = new Set((spec.versions ?? []).map(({ name }) => name));
  for (const [index, name] of stored.entries()) {
    if (names.has(name)) continue;
    const until = `a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`;
    const text = `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until ${until}`;
    field.item(index).invalid(name, text);
  }
}

/** Definitions in domains of the community need an approval; a definition that an older server accepted may stay unchanged. */
function validateApproval(definition: CustomResourceDefinition, field: Field, old?: CustomResourceDefinition): void {
  const { annotations } = definition.metadata;
  if (!isProtectedGroup(definition.spec.group ?? '')) return;
  const { state, message } = apiApprovalOf(annotations);
  if (old !== undefined && apiApprovalOf(old.metadata.annotations).state === state) return;
  const place = field.at('metadata').at('annotations').key(API_APPROVED_ANNOTATION);
  if (state === 'MissingAnnotation') place.required(message);
  if (state === 'InvalidAnnotation') place.invalid(annotations?.[API_APPROVED_ANNOTATION], message);
}

function hasDefaults(schema: JSONSchemaProps): boolean {
  return schema.default !== undefined || partsOf(schema).some(hasDefaults);
}

interface SpecChecks {
  readonly rules: SchemaRules;
  /** Before an update. */
  readonly old?: CustomResourceDefinition;
}

function validateSpec(definition: CustomResourceDefinition, field: Field, { rules, old }: SpecChecks): void {
  const { spec } = definition;
  const { group = '', names = { kind: '', plural: '' } } = spec;
  const groupErrors = isDns1123Subdomain(group);
  if (group === '') field.at('group').required();
  else if (groupErrors.length > 0) field.at('group').invalid(group, groupErrors.join(','));
  else if (!group.includes('.')) field.at('group').invalid(group, 'should be a domain with at least one dot');
  validateChoice(spec.scope, ['Cluster', 'Namespaced'], field.at('scope'));
  const versions = spec.versions ?? [];
  const shared = sharedParts(versions);
  for (const [index, { schema }] of versions.entries())
    if (schema?.openAPIV3Schema === undefined)
      field.at('versions').item(index).at('schema').at('openAPIV3Schema').required();
  if (spec.preserveUnknownFields === true && versions.some(({ schema }) => hasDefaults(schema?.openAPIV3Schema ?? {})))
    field.at('preserveUnknownFields').invalid(true, 'must be false in order to use defaults in the schema');
  const fits = validateDefinitionBudget(definition, field.at('versions'));
  const anyStatus = versions.some(({ subresources }) => subresources?.status !== undefined);
  const knowsDefaults = !(old?.spec.versions ?? []).some(({ schema }) =>
    hasUnknownDefaults(schema?.openAPIV3Schema ?? {}),
  );
  const checks = { fits, shared, rules, anyStatus, knowsDefaults };
  validateVersions(definition, field.at('versions'), checks);
  const [first] = versions;
  // `spec.version`, upstream's deprecated name of the first version.
  field
    .at('version')
    .complain(
      first?.name ?? '',
      first === undefined || first.name === '' ? [] : joinProblems(isDns1035Label(first.name ?? '')),
    );
  for (const name of ['plural', 'singular', 'kind', 'listKind'] as const)
    if ((names[name] ?? '') === '') field.at('names').at(name).required();
  validateNames(names, field.at('names'));
  if (first !== undefined && fits)
    validateParts(
      first,
      (part) => (shared.has(part) ? field.at(part === 'schema' ? 'validation' : part) : undefined),
      checks,
    );
  validateConversion(definition, field.at('conversion'));
}

/** Validates a new definition. */
export function validateCustomResourceDefinition(
  definition: CustomResourceDefinition,
  field: Field,
  rules: SchemaRules,
): void {
  const { spec } = definition;
  if (spec === undefined) return field.at('spec').required();
  for (const key of ['generateName', 'name'] as const) {
    const name = definition.metadata[key] ?? '';
    if (name !== '' && name !== `${spec.names?.plural ?? ''}.${spec.group ?? ''}`)
      field.at('metadata').at(key).invalid(name, 'must be spec.names.plural+"."+spec.group');
  }
  validateSpec(definition, field.at('spec'), { rules });
  validateStoredVersions(definition, field.at('status').at('storedVersions'));
  validateApproval(definition, field);
  if (spec.preserveUnknownFields === true) refusePreserving(field);
}

function refusePreserving(field: Field): void {
  field
    .at('spec')
    .at('preserveUnknownFields')
    .invalid(
      true,
      'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
    );
}

/** Validates an update: group and plural name are immutable and, once established, scope and kind. */
export function validateCustomResourceDefinitionUpdate(
  definition: CustomResourceDefinition,
  { old, field }: { readonly old: CustomResourceDefinition; readonly field: Field },
  rules: SchemaRules,
): void {
  if (definition.spec === undefined) return field.at('spec').required();
  const spec = field.at('spec');
  validateSpec(definition, spec, { rules, old });
  const established = (old.status?.conditions ?? []).some(
    ({ type, status }) => type === 'Established' && status === 'True',
  );
  if (established) {
    validateImmutable(definition.spec.scope, old.spec.scope, spec.at('scope'));
    validateImmutable(definition.spec.names?.kind, old.spec.names?.kind, spec.at('names').at('kind'));
  }
  validateImmutable(definition.spec.group, old.spec.group, spec.at('group'));
  validateImmutable(definition.spec.names?.plural, old.spec.names?.plural, spec.at('names').at('plural'));
  validateStoredVersions(definition, field.at('status').at('storedVersions'));
  validateApproval(definition, field, old);
  if (definition.spec.preserveUnknownFields === true && old.spec.preserveUnknownFields !== true)
    refusePreserving(field);
}

/** Validates a status update. */
export function validateCustomResourceDefinitionStatus(definition: CustomResourceDefinition, field: Field): void {
  const status = field.at('status');
  validateNames(definition.status?.acceptedNames ?? { kind: '', plural: '' }, status.at('acceptedNames'));
  validateStoredVersions(definition, status.at('storedVersions'));
}
