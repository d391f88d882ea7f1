/**
 * Validation of storage versions and their migrations. Upstream: apis/apiserverinternal/validation,
 * apis/storagemigration/validation. As upstream, errors about a storage version's conditions lack `conditions` in their path, and
 * quote the type when the status is wrong.
 */
import type { Field } from '../field-error.ts';
import type {
  ServerStorageVersion,
  StorageVersion,
  StorageVersionCondition,
} from '../gen/apiserverinternal-v1alpha1.ts';
import type { StorageVersionMigration } from '../gen/storagemigration-v1beta1.ts';
import { EMPTY_TEXT, isDns1035Label, isDns1123Subdomain, isQualifiedName, regexText } from '../names.ts';
import { type NameCheck } from '../name-checks.ts';
import { validateConditions, validateImmutableStruct } from './common.ts';

/** The name must be `group.resource`. */
export const nameIsStorageVersion: NameCheck = (name) => {
  const dot = name.lastIndexOf('.');
  if (dot < 0) return ['name must be in the form of <group>.<resource>'];
  return [
    ...isDns1123Subdomain(name.slice(0, dot)).map((complaint) => `the group segment ${complaint}`),
    ...isDns1035Label(name.slice(dot + 1)).map((complaint) => `the resource segment ${complaint}`),
  ];
};

const PARTS_TEXT = `an apiVersion is ${regexText(
  "a DNS-1035 label, which must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  '[a-z]([-a-z0-9]*[a-z0-9])?',
  'my-name',
  'abc-123',
)} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyVersion')`;

function isApiVersion(text: string): readonly string[] {
  const parts = text.split('/');
  if (parts.length > 2) return [PARTS_TEXT];
  const version = parts.at(-1)!;
  const complaints = parts.length === 1 ? [] : partOf('group', parts[0]!, isDns1123Subdomain);
  return [...complaints, ...partOf('version', version, isDns1035Label)];
}

function partOf(name: string, text: string, check: (text: string) => readonly string[]): readonly string[] {
  const complaints = text === '' ? [EMPTY_TEXT] : check(text);
  return complaints.map((complaint) => `${name} part: ${complaint}`);
}

function validateApiVersion(version: string, field: Field): void {
  const complaints = isApiVersion(version);
  if (complaints.length > 0) field.invalid(version, complaints.join(','));
}

export function validateStorageVersionStatus({ status }: StorageVersion, field: Field): void {
  const at = field.at('status');
  const servers = status?.storageVersions ?? [];
  for (const [index, server] of servers.entries()) validateServer(server, at.at('storageVersions').item(index));
  validateCommonVersion(servers, status?.commonEncodingVersion, at.at('commonEncodingVersion'));
  validateStorageConditions(status?.conditions ?? [], at);
}

function validateServer(server: ServerStorageVersion, field: Field): void {
  const { apiServerID = '', encodingVersion = '', decodableVersions, servedVersions } = server;
  field.at('apiServerID').complain(apiServerID, isDns1123Subdomain(apiServerID));
  validateApiVersion(encodingVersion, field.at('encodingVersion'));
  const decodable = field.at('decodableVersions');
  const decodableSet = new Set(decodableVersions);
  for (const [index, version] of (decodableVersions ?? []).entries())
    validateApiVersion(version, decodable.item(index));
  if (!decodableSet.has(encodingVersion))
    decodable.invalid(decodableVersions ?? null, `decodableVersions must include encodingVersion ${encodingVersion}`);
  const listed = shownVersions(decodableVersions ?? []);
  for (const [index, version] of (servedVersions ?? []).entries()) {
    const at = field.at('servedVersions').item(index);
    validateApiVersion(version, at);
    if (!decodableSet.has(version))
      at.invalid(version, `individual served version : ${version} must be included in decodableVersions : ${listed}`);
  }
}

/** The limit of versions that an error quotes, because a list of served versions may be long. */
const SHOWN_VERSIONS = 20;

function shownVersions(versions: readonly string[]): string {
  const more = versions.length > SHOWN_VERSIONS ? ` and ${versions.length - SHOWN_VERSIONS} more` : '';
  return `[${versions.slice(0, SHOWN_VERSIONS).join(' ')}${more}]`;
}

function validateCommonVersion(
  servers: readonly ServerStorageVersion[],
  commonVersion: string | undefined,
  field: Field,
): void {
  const versions = new Set(servers.map(({ encodingVersion }) => encodingVersion ?? ''));
  const [common] = versions.size === 1 ? versions : [];
  if (common === commonVersion) return;
  if (common === undefined)
    field.invalid(
      commonVersion,
      'should be nil if servers do not agree on the same encoding version, or if there is no server reporting the supported versions yet',
    );
  else if (commonVersion === undefined) field.invalid(null, `the common encoding version is ${common}`);
  else field.invalid(commonVersion, `the actual common encoding version is ${common}`);
}

function validateStorageConditions(conditions: readonly StorageVersionCondition[], field: Field): void {
  const seen = new Map<string, number>();
  for (const [index, { type = '', status = '', reason = '', message = '' }] of conditions.entries()) {
    const at = field.item(index);
    const earlier = seen.get(type);
    if (earlier !== undefined)
      at.at('type').invalid(type, `the type of the condition is not unique, it also appears in conditions[${earlier}]`);
    seen.set(type, index);
    at.at('type').complain(type, isQualifiedName(type));
    at.at('status').complain(type, isQualifiedName(status));
    if (reason === '') at.at('reason').required('reason cannot be empty');
    if (message === '') at.at('message').required('message cannot be empty');
  }
}

/** Validates a migration; `old` is set on updates. */
export function validateStorageVersionMigration(
  { spec }: StorageVersionMigration,
  field: Field,
  old?: StorageVersionMigration,
): void {
  const { group = '', resource = '' } = spec?.resource ?? {};
  const at = field.at('spec').at('resource');
  if (resource === '') at.at('resource').required('resource is required to be set');
  else complainTogether(resource, isDns1035Label(resource), at.at('resource'));
  if (group !== '') complainTogether(group, isDns1123Subdomain(group), at.at('group'));
  if (old !== undefined)
    validateImmutableStruct([spec, old.spec], 'storagemigration.v1beta1.StorageVersionMigrationSpec', field.at('spec'));
}

function complainTogether(text: string, complaints: readonly string[], field: Field): void {
  if (complaints.length > 0) field.invalid(text, complaints.join(','));
}

const CONDITIONS = ['Succeeded', 'Failed'] as const;

function trueConditions({ status }: StorageVersionMigration): ReadonlySet<string> {
  return new Set(
    CONDITIONS.filter((type) => status?.conditions?.find((other) => other.type === type)?.status === 'True'),
  );
}

/** Validates the status of a migration: a final condition must stay. */
export function validateStorageVersionMigrationStatus(
  migration: StorageVersionMigration,
  old: StorageVersionMigration,
  field: Field,
): void {
  const { resourceVersion = '', conditions } = migration.status ?? {};
  const at = field.at('status');
  if (resourceVersion !== '' && !/^[1-9][0-9]*$/u.test(resourceVersion))
    at.at('resourceVersion').invalid(resourceVersion, `resource version is not well formed: ${resourceVersion}`);
  const place = at.at('conditions');
  validateConditions(conditions, place);
  const before = old.status?.resourceVersion ?? '';
  if (before !== '' && before !== resourceVersion)
    at.at('resourceVersion').invalid(resourceVersion, 'field is immutable');
  const now = trueConditions(migration);
  const earlier = trueConditions(old);
  const complain = (isWrong: boolean, text: string): void => {
    if (isWrong) place.invalid(conditions ?? null, text);
  };
  complain(
    now.has('Succeeded') && now.has('Failed'),
    'Both success and failed conditions cannot be true at the same time',
  );
  complain(
    earlier.has('Succeeded') && !now.has('Succeeded'),
    'Success condition cannot be set to false once it is true',
  );
  complain(earlier.has('Failed') && !now.has('Failed'), 'Failed condition cannot be set to false once it is true');
}
