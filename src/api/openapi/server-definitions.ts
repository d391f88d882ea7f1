// Definitions of the responses of discovery and /version. The schema tables lack these types, because no request contains them.

import type { JsonObject } from '../codec/own-property.ts';

const TEXT: JsonObject = { type: 'string' };

const gvk = (kind: string): JsonObject => ({
  'x-kubernetes-group-version-kind': [{ group: '', kind, version: 'v1' }],
});

const list = (items: JsonObject): JsonObject => ({ type: 'array', items, 'x-kubernetes-list-type': 'atomic' });

const VERSION_FIELDS = [
  'buildDate',
  'compiler',
  'emulationMajor',
  'emulationMinor',
  'gitCommit',
  'gitTreeState',
  'gitVersion',
  'goVersion',
  'major',
  'minCompatibilityMajor',
  'minCompatibilityMinor',
  'minor',
  'platform',
];

/** The definition of such a type; undefined for other types. `refer` creates a reference to a type. */
export function serverDefinition(type: string, refer: (type: string) => JsonObject): JsonObject | undefined {
  if (type === 'version.Info') {
    const optional = /^(emulation|minCompatibility)/;
    return {
      type: 'object',
      properties: Object.fromEntries(VERSION_FIELDS.map((field) => [field, TEXT])),
      required: VERSION_FIELDS.filter((field) => !optional.test(field)),
    };
  }
  if (type === 'meta.v1.APIGroupList') {
    const properties = { apiVersion: TEXT, groups: list(refer('meta.v1.APIGroup')), kind: TEXT };
    return { type: 'object', properties, required: ['groups'], ...gvk('APIGroupList') };
  }
  if (type !== 'meta.v1.APIVersions') return undefined;
  const properties = {
    apiVersion: TEXT,
    kind: TEXT,
    serverAddressByClientCIDRs: list(refer('meta.v1.ServerAddressByClientCIDR')),
    versions: list(TEXT),
  };
  return { type: 'object', properties, required: ['versions', 'serverAddressByClientCIDRs'], ...gvk('APIVersions') };
}
