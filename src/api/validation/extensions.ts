/** Custom resource definitions (names, versions; schemas are the extension server's matter) and API services. Upstream: apiextensions/validation, apiregistration/validation. */
import type { Field } from '../field-error.ts';
import type { CustomResourceDefinition, CustomResourceDefinitionNames } from '../gen/apiextensions-v1.ts';
import type { APIService } from '../gen/apiregistration-v1.ts';
import { isDns1035Label, isDns1123Subdomain, isPortNumber } from '../names.ts';
import { validateChoice, validateImmutable } from './common.ts';
import { validateWebhookClient } from './webhook-client.ts';

function validateNames(names: CustomResourceDefinitionNames, field: Field): void {
  if ((names.plural ?? '') === '') field.at('plural').required();
  else field.at('plural').complain(names.plural, isDns1035Label(names.plural));
  if ((names.singular ?? '') !== '') field.at('singular').complain(names.singular, isDns1035Label(names.singular!));
  if ((names.kind ?? '') === '') field.at('kind').required();
  else if (isDns1035Label(names.kind.toLowerCase()).length > 0) {
    field
      .at('kind')
      .invalid(
        names.kind,
        `may have mixed case, but should otherwise match: ${isDns1035Label(names.kind.toLowerCase()).join(',')}`,
      );
  }
  if ((names.listKind ?? '') !== '' && isDns1035Label(names.listKind!.toLowerCase()).length > 0) {
    field
      .at('listKind')
      .invalid(
        names.listKind,
        `may have mixed case, but should otherwise match: ${isDns1035Label(names.listKind!.toLowerCase()).join(',')}`,
      );
  }
  for (const [index, name] of (names.shortNames ?? []).entries())
    field.at('shortNames').item(index).complain(name, isDns1035Label(name));
  for (const [index, name] of (names.categories ?? []).entries())
    field.at('categories').item(index).complain(name, isDns1035Label(name));
  if (names.kind !== '' && names.kind === names.listKind)
    field.at('listKind').invalid(names.listKind, 'kind and listKind may not be the same');
}

function validateVersions(definition: CustomResourceDefinition, field: Field): void {
  const versions = definition.spec.versions ?? [];
  const seen = new Set<string>();
  let stored = 0;
  for (const [index, version] of versions.entries()) {
    const place = field.item(index);
    if (seen.has(version.name)) field.invalid(version.name, 'must contain unique version names');
    seen.add(version.name);
    if (version.storage) stored++;
    place.at('name').complain(version.name, isDns1035Label(version.name ?? ''));
    if (version.schema?.openAPIV3Schema === undefined)
      place.at('schema').at('openAPIV3Schema').required('schemas are required');
    else if (version.schema.openAPIV3Schema.type !== 'object') {
      const type = place.at('schema').at('openAPIV3Schema').at('type');
      if ((version.schema.openAPIV3Schema.type ?? '') === '') type.required('must not be empty at the root');
      else type.invalid(version.schema.openAPIV3Schema.type, 'must be object at the root');
    }
  }
  if (stored !== 1)
    field.invalid(
      versions.map((version) => version.name),
      'must have exactly one version marked as storage version',
    );
}

/** A custom resource definition. */
export function validateCustomResourceDefinition(definition: CustomResourceDefinition, field: Field): void {
  const spec = definition.spec;
  const place = field.at('spec');
  if (spec === undefined) return place.required();
  const name = definition.metadata.name ?? '';
  const wanted = `${spec.names?.plural ?? ''}.${spec.group ?? ''}`;
  if (name !== wanted) field.at('metadata').at('name').invalid(name, 'must be spec.names.plural+"."+spec.group');
  if ((spec.group ?? '') === '') place.at('group').required();
  else {
    place.at('group').complain(spec.group, isDns1123Subdomain(spec.group));
    if (!spec.group.includes('.')) place.at('group').invalid(spec.group, 'should be a domain with at least one dot');
  }
  validateChoice(spec.scope, ['Cluster', 'Namespaced'], place.at('scope'));
  if (spec.preserveUnknownFields === true)
    place
      .at('preserveUnknownFields')
      .invalid(
        true,
        'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
      );
  if (name.endsWith('.k8s.io') || name.endsWith('.kubernetes.io')) validateProtectedGroup(definition, field);
  validateVersions(definition, place.at('versions'));
  validateNames(spec.names ?? { kind: '', plural: '' }, place.at('names'));
  validateConversion(definition, place.at('conversion'));
}

/** Groups of the project's own domain need an approval in an annotation. */
function validateProtectedGroup(definition: CustomResourceDefinition, field: Field): void {
  const key = 'api-approved.kubernetes.io';
  const value = definition.metadata.annotations?.[key];
  const place = field.at('metadata').at('annotations').key(key);
  if (value === undefined || value === '')
    place.required(
      'protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111',
    );
  else if (!value.startsWith('unapproved') && !/^[a-z]+:\/\/\S+$/.test(value))
    place.invalid(value, 'must be a URL or "unapproved"');
}

function validateConversion(definition: CustomResourceDefinition, field: Field): void {
  const conversion = definition.spec.conversion;
  if (conversion === undefined) return;
  validateChoice(conversion.strategy, ['None', 'Webhook'], field.at('strategy'));
  if (conversion.strategy === 'Webhook') {
    if (conversion.webhook?.clientConfig === undefined)
      field.at('webhookClientConfig').required('required when strategy is set to Webhook');
    else validateWebhookClient(conversion.webhook.clientConfig, field.at('webhook').at('clientConfig'));
    if ((conversion.webhook?.conversionReviewVersions ?? []).length === 0)
      field.at('conversionReviewVersions').required();
  } else if (conversion.webhook !== undefined) {
    field.at('webhook').forbidden('should not be set when strategy is not set to Webhook');
  }
}

/** Group, scope and names of a definition in force never change. */
export function validateCustomResourceDefinitionUpdate(
  definition: CustomResourceDefinition,
  old: CustomResourceDefinition,
  field: Field,
): void {
  validateCustomResourceDefinition(definition, field);
  const spec = field.at('spec');
  validateImmutable(definition.spec.group, old.spec.group, spec.at('group'));
  validateImmutable(definition.spec.names?.plural, old.spec.names?.plural, spec.at('names').at('plural'));
  const established = (old.status?.conditions ?? []).some(
    (condition) => condition.type === 'Established' && condition.status === 'True',
  );
  if (established) {
    validateImmutable(definition.spec.scope, old.spec.scope, spec.at('scope'));
    validateImmutable(definition.spec.names?.kind, old.spec.names?.kind, spec.at('names').at('kind'));
  }
  const names = new Set((definition.spec.versions ?? []).map((version) => version.name));
  for (const [index, stored] of (old.status?.storedVersions ?? []).entries()) {
    if (!names.has(stored))
      field
        .at('status')
        .at('storedVersions')
        .item(index)
        .invalid(
          stored,
          `missing from spec.versions; ${stored} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${stored} and removes ${stored} from status.storedVersions`,
        );
  }
}

/** An API service. */
export function validateAPIService(service: APIService, field: Field): void {
  const {
    group = '',
    version = '',
    groupPriorityMinimum = 0,
    versionPriority = 0,
    service: reference,
    caBundle,
    insecureSkipTLSVerify,
  } = service.spec ?? {};
  const wanted = `${version}.${group}`;
  if (service.metadata.name !== wanted)
    field
      .at('metadata')
      .at('name')
      .invalid(service.metadata.name ?? '', `must be \`spec.version+"."+spec.group\`: "${wanted}"`);
  const spec = field.at('spec');
  if (group === '') {
    if (version !== 'v1') spec.at('group').required(`only v1 may have an empty group and it better be legacy kube`);
  } else spec.at('group').complain(group, isDns1123Subdomain(group));
  spec.at('version').complain(version, isDns1035Label(version));
  if (groupPriorityMinimum <= 0 || groupPriorityMinimum > 20000)
    spec.at('groupPriorityMinimum').invalid(groupPriorityMinimum, 'must be positive and less than 20000');
  if (versionPriority <= 0 || versionPriority > 1000)
    spec.at('versionPriority').invalid(versionPriority, 'must be positive and less than 1000');
  if (reference === undefined) {
    if ((caBundle ?? '') !== '')
      spec.at('caBundle').invalid(`${caBundle!.length} bytes`, 'local APIServices may not have a caBundle');
    if (insecureSkipTLSVerify === true)
      spec.at('insecureSkipTLSVerify').invalid(true, 'local APIServices may not have insecureSkipTLSVerify');
    return;
  }
  if ((reference.namespace ?? '') === '') spec.at('service').at('namespace').required();
  if ((reference.name ?? '') === '') spec.at('service').at('name').required();
  if (reference.port !== undefined && isPortNumber(reference.port).length > 0)
    spec
      .at('service')
      .at('port')
      .invalid(reference.port, `port is not valid: ${isPortNumber(reference.port).join(',')}`);
  if (insecureSkipTLSVerify === true && (caBundle ?? '') !== '')
    spec.at('insecureSkipTLSVerify').invalid(true, 'may not be true if caBundle is present');
}

/** An update of an API service. */
export function validateAPIServiceUpdate(service: APIService, _old: APIService, field: Field): void {
  validateAPIService(service, field);
}
