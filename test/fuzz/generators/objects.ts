// Valid objects of every built-in kind: the minimal object, with random fields of the schema.
import type { JsonObject } from '../../../src/api/codec/own-property.ts';
import { allResources } from '../../../src/api/gen/resources.ts';
import { apiVersionOf } from '../../../src/api/resource-info.ts';
import { sampleStruct } from '../../../src/api/schema/sample-fixture.ts';
import { schemaOf } from '../../../src/api/schema/schema.ts';
import { chance, pick, type Random } from '../draw.ts';
import { minimalObjects } from './minimal-objects.ts';

/** Every built-in resource in every served version. */
export const resources = allResources.filter(({ kind }) => kind !== 'PodCertificateRequest');

/** Objects have one of a few names, so that later exchanges refer to earlier objects. */
export const names = ['fuzz-a', 'fuzz-b', 'fuzz-c'] as const;

export const namespaces = ['fuzz', 'fuzz', 'fuzz', 'fuzz', 'fuzz', 'fuzz', 'fuzz', 'fuzz-b', 'absent'] as const;

const metadataExtras: readonly JsonObject[] = [
  { labels: { app: 'a', 'fuzz.io/b': '' } },
  { annotations: { 'fuzz.io/a': '{"a":1}' } },
  { finalizers: ['fuzz.io/keep'] },
  { generateName: 'fuzz-' },
  { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'fuzz-a', uid: 'u', controller: true }] },
  { resourceVersion: '1' },
  { resourceVersion: '0' },
  { uid: '00000000-0000-0000-0000-000000000000' },
  { deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 1 },
  {
    managedFields: [
      {
        manager: 'm',
        operation: 'Apply',
        apiVersion: 'v1',
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:data': { 'f:a': {} } },
      },
    ],
  },
  { selfLink: '/a', generation: 7, creationTimestamp: '2000-01-01T00:00:00Z' },
];

/** Kinds whose names are derived from other values. */
const ownNames: Readonly<Record<string, string>> = {
  APIService: 'v1.peer.fuzz.io',
  CustomResourceDefinition: 'as.fuzz.io',
  IPAddress: '10.200.0.1',
  CSIDriver: 'fuzz.io',
  StorageVersion: 'fuzz.io.as',
};

interface Kind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** An object of the kind; `extra` is the probability of optional fields. */
export function objectOf(random: Random, kind: Kind, extra: number): JsonObject {
  const minimal = minimalObjects[kind.kind] ?? {};
  const object: JsonObject = { apiVersion: apiVersionOf(kind), kind: kind.kind, ...structuredClone(minimal) };
  const metadata: JsonObject = {
    name: ownNames[kind.kind] ?? pick(random, names),
    ...(minimal['metadata'] as JsonObject | undefined),
  };
  while (chance(random, extra)) Object.assign(metadata, structuredClone(pick(random, metadataExtras)));
  object['metadata'] = metadata;
  const schema = schemaOf(kind.group, kind.version, kind.kind);
  if (schema === undefined || !chance(random, extra)) return object;
  const sample = sampleStruct(schema, () => random.next(), 5);
  for (const [name, value] of Object.entries(sample)) {
    if (['apiVersion', 'kind', 'metadata'].includes(name)) continue;
    object[name] = merged(random, object[name], value);
  }
  return object;
}

/** A few of the sample's fields, because an object with all of them would nearly always be invalid. */
function merged(random: Random, own: unknown, sample: unknown): unknown {
  if (own === undefined) return chance(random, 0.3) ? sample : undefined;
  if (typeof own !== 'object' || own === null || Array.isArray(own)) return own;
  if (typeof sample !== 'object' || sample === null || Array.isArray(sample)) return own;
  const out: JsonObject = { ...(own as JsonObject) };
  for (const [name, value] of Object.entries(sample))
    if (name in out) out[name] = merged(random, out[name], value);
    else if (chance(random, 0.15))
      Object.defineProperty(out, name, { value, enumerable: true, writable: true, configurable: true });
  return out;
}
