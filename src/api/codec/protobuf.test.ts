// Upstream's own examples (one JSON and one protobuf file per kind) are not part of the project. When a folder of them exists,
// they are compared too. every-field.test.ts derives its values from the facts.

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseJson } from './json.ts';
import type { JsonObject } from './own-property.ts';
import {
  builtinSchema,
  decodeProtobuf,
  decodeRawMessage,
  decodeWatchEvent,
  encodeMessage,
  encodeProtobuf,
  encodeWatchFrame,
} from './protobuf.ts';
import { canonicalize } from './canonical.ts';
import { decodeTyped } from './typed.ts';

const folders = ['../../../..', '../../../../..'].map((up) =>
  join(fileURLToPath(import.meta.url), '..', up, 'shared/api/roundtrip-v1.35'),
);
const golden = folders.find((folder) => existsSync(folder));

/** Names of the golden files spell the core group `core`. */
function read(folder: string, name: string): { bytes: Buffer; json: JsonObject; changed: boolean } {
  return {
    bytes: readFileSync(join(folder, `${name}.pb`)),
    // For fields that upstream has dropped since, a second pair of files holds the form after a round trip.
    changed: ['pb', 'json'].some((ext) => existsSync(join(folder, `${name}.after_roundtrip.${ext}`))),
    json: parseJson(readFileSync(join(folder, `${name}.json`), 'utf8')).value as JsonObject,
  };
}

async function compareGoldenPairs(t: TestContext, folder: string): Promise<void> {
  const names = readdirSync(folder)
    .filter((f) => f.endsWith('.pb') && !f.includes('after_'))
    .map((f) => f.slice(0, -3));
  let checked = 0;
  for (const name of names) {
    const { bytes, json, changed } = read(folder, name);
    const kind = name.slice(name.lastIndexOf('.') + 1);
    const schema = builtinSchema(String(json['apiVersion'] ?? 'v1'), kind);
    if (schema === undefined) continue;
    checked++;
    await t.test(name, () => {
      const { object: canonical, warnings } = decodeTyped(schema, json, { mode: 'Warn' });
      const decoded = decodeProtobuf(bytes, { apiVersion: 'v1', kind });
      const bare = json['kind'] === undefined ? { ...decoded } : decoded;
      if (json['kind'] === undefined) for (const key of ['apiVersion', 'kind']) delete bare[key];
      assert.deepEqual(bare, canonical, 'decoding protobuf gives the JSON');
      const encoded = encodeProtobuf(schema, canonical);
      // A field of v1.35 that v1.36 lacks is not encoded again.
      if (warnings.length === 0 && !changed)
        assert.equal(Buffer.compare(encoded, bytes), 0, 'encoding the JSON gives the protobuf');
      assert.deepEqual(decodeProtobuf(encoded, { apiVersion: 'v1', kind }), decoded);
    });
  }
  assert.ok(checked > 90, `only ${checked} kinds checked`);
}

if (golden !== undefined)
  test("upstream's golden pairs are decoded and encoded alike", (t) => compareGoldenPairs(t, golden));

function roundTrip(object: JsonObject): JsonObject {
  const schema = builtinSchema(String(object['apiVersion']), String(object['kind']));
  assert.ok(schema);
  const canonical = canonicalize(schema, object);
  const decoded = decodeProtobuf(encodeProtobuf(schema, canonical));
  assert.deepEqual(decoded, canonical);
  return decoded;
}

test('zero values of optional scalars are kept behind pointers and dropped by omitempty', () => {
  const object = roundTrip({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'a', generation: 0 },
    spec: {
      replicas: 0,
      paused: false,
      selector: {},
      template: {
        spec: {
          containers: [{ name: 'c', stdin: false, securityContext: { privileged: false, runAsUser: 0 } }],
          priority: 0,
          hostNetwork: false,
        },
      },
    },
  });
  const spec = object['spec'] as {
    replicas: number;
    template: { spec: { containers: JsonObject[]; priority: number } };
  };
  assert.equal(spec.replicas, 0);
  assert.equal('paused' in spec, false);
  assert.equal(spec.template.spec.priority, 0);
  assert.deepEqual(spec.template.spec.containers, [
    { name: 'c', resources: {}, securityContext: { privileged: false, runAsUser: 0 } },
  ]);
});

test('a struct with every field zero decodes to the canonical shape', () => {
  for (const kind of ['Pod', 'Service', 'Node', 'Secret', 'ConfigMap', 'PersistentVolumeClaim', 'Event', 'Namespace']) {
    roundTrip({ apiVersion: 'v1', kind });
  }
  for (const kind of ['Deployment', 'StatefulSet', 'DaemonSet', 'ReplicaSet'])
    roundTrip({ apiVersion: 'apps/v1', kind });
});

test('lists, options, status and CRDs survive a round trip', () => {
  roundTrip({
    apiVersion: 'v1',
    kind: 'PodList',
    metadata: { resourceVersion: '5', remainingItemCount: 0 },
    items: [{ metadata: { name: 'a' } }, {}],
  });
  roundTrip({ apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0, preconditions: { uid: 'x' } });
  roundTrip({ apiVersion: 'v1', kind: 'Status', status: 'Failure', code: 404, details: { causes: [{ field: 'a' }] } });
  roundTrip({
    apiVersion: 'meta.k8s.io/v1',
    kind: 'PartialObjectMetadataList',
    items: [{ apiVersion: 'x', metadata: { name: 'a' } }].map((i) => ({ metadata: i.metadata })),
  });
  roundTrip({ apiVersion: 'v1', kind: 'List', items: [{ a: 1 }] });
  roundTrip({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    spec: {
      group: 'g',
      versions: [
        {
          name: 'v1',
          schema: {
            openAPIV3Schema: {
              type: 'object',
              maximum: 1.5,
              default: { a: [1, null, 'x'] },
              enum: ['a', 1, null],
              additionalProperties: false,
              items: { type: 'string' },
              dependencies: { a: ['b', 'c'], d: { type: 'string' } },
              properties: { x: { additionalProperties: { type: 'string' }, items: [{ type: 'string' }] } },
              'x-kubernetes-preserve-unknown-fields': false,
            },
          },
        },
      ],
    },
  });
});

test('map keys are sorted; negative and long integers and micro times survive', () => {
  const object = roundTrip({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      labels: { b: '1', a: '2', __proto: '3' },
      generation: 9007199254740993n,
      deletionGracePeriodSeconds: -1,
    },
    spec: { containers: [], tolerations: [{ tolerationSeconds: -9007199254740993n }] },
  });
  assert.deepEqual(Object.keys((object['metadata'] as { labels: object }).labels), ['__proto', 'a', 'b']);
  roundTrip({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    spec: { renewTime: '2024-01-01T00:00:00.000001Z', leaseTransitions: 0 },
  });
});

test('a watch frame has its length and can be decoded', () => {
  const schema = builtinSchema('v1', 'ConfigMap');
  assert.ok(schema);
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { k: 'v' } };
  const frame = encodeWatchFrame('ADDED', encodeProtobuf(schema, object));
  assert.equal(Buffer.from(frame).readUInt32BE(0), frame.length - 4);
  assert.deepEqual(decodeWatchEvent(frame.subarray(4)), { type: 'ADDED', object });
});

test('malformed bytes are refused with a PbError', () => {
  const schema = builtinSchema('v1', 'Pod');
  assert.ok(schema);
  const good = encodeMessage(schema, {
    metadata: { name: 'a', labels: { a: 'b' } },
    spec: { containers: [{ name: 'c', ports: [{ containerPort: 80 }] }] },
  });
  let refused = 0;
  for (let i = 0; i < good.length; i++) {
    for (const b of [0, 0x7f, 0xff]) {
      const bad = Uint8Array.from(good);
      bad[i] = b;
      try {
        decodeRawMessage(schema, bad);
      } catch (error) {
        assert.equal((error as Error).name, 'PbError');
        refused++;
      }
    }
  }
  assert.ok(refused > 10);
  assert.throws(() => decodeProtobuf(Buffer.from('{}')), { name: 'PbError' });
});

test('kinds without a protobuf form are refused', () => {
  const table = builtinSchema('meta.k8s.io/v1', 'Table');
  assert.ok(table);
  assert.throws(() => encodeProtobuf(table, { apiVersion: 'meta.k8s.io/v1', kind: 'Table', rows: [] }), {
    name: 'PbError',
  });
  assert.throws(() => decodeProtobuf(Buffer.from('6b3873000a0c0a04672f763112044b696e64', 'hex')), { name: 'PbError' });
});
