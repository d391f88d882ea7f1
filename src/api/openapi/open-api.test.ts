import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../codec/own-property.ts';
import { PbReader } from '../codec/pb-reader.ts';
import { allResources } from '../gen/resources.ts';
import { createOpenApi } from './open-api.ts';

const openApi = createOpenApi({ gitVersion: 'v1.36.0', resources: allResources });
const document = (path: string): JsonObject => JSON.parse(openApi.v3(path)?.text ?? assert.fail(path)) as JsonObject;

function at(value: unknown, ...path: string[]): unknown {
  return path.reduce<unknown>((here, key) => (here as JsonObject | undefined)?.[key], value);
}

test('the index names every group version, with a hash that follows the content', () => {
  const index = openApi.v3Index()['paths'] as Record<string, { serverRelativeURL: string }>;
  assert.match(index['api/v1']?.serverRelativeURL ?? '', /^\/openapi\/v3\/api\/v1\?hash=[0-9A-F]{16}$/);
  assert.equal(Object.keys(index).length, new Set(allResources.map((r) => `${r.group}/${r.version}`)).size);
  assert.equal(openApi.v3('apis/nope/v1'), undefined);
  const other = createOpenApi({ gitVersion: 'v1.36.1', resources: allResources });
  assert.notEqual(other.v3('api/v1')?.hash, openApi.v3('api/v1')?.hash);
});

test('kubectl finds kinds and query parameters by operation', () => {
  const patch = at(
    document('apis/apps/v1'),
    'paths',
    '/apis/apps/v1/namespaces/{namespace}/deployments/{name}',
    'patch',
  ) as JsonObject;
  assert.deepEqual(patch['x-kubernetes-group-version-kind'], { group: 'apps', kind: 'Deployment', version: 'v1' });
  assert.equal(patch['x-kubernetes-action'], 'patch');
  assert.equal(patch['operationId'], 'patchAppsV1NamespacedDeployment');
  const names = (patch['parameters'] as { name: string }[]).map((p) => p.name);
  for (const name of ['dryRun', 'fieldManager', 'fieldValidation', 'force']) assert.ok(names.includes(name), name);
  const exec = at(document('api/v1'), 'paths', '/api/v1/namespaces/{namespace}/pods/{name}/exec', 'get') as JsonObject;
  assert.deepEqual(
    [exec['x-kubernetes-action'], exec['operationId']],
    ['connect', 'connectGetCoreV1NamespacedPodExec'],
  );
});

test('schemas carry merge rules, references and enums', () => {
  const schemas = at(document('api/v1'), 'components', 'schemas') as JsonObject;
  const container = schemas['io.k8s.api.core.v1.Container'];
  assert.deepEqual(at(container, 'required'), ['name']);
  const ports = at(container, 'properties', 'ports') as JsonObject;
  assert.deepEqual(ports['x-kubernetes-list-map-keys'], ['containerPort', 'protocol']);
  assert.deepEqual(
    [ports['x-kubernetes-list-type'], ports['x-kubernetes-patch-merge-key'], ports['x-kubernetes-patch-strategy']],
    ['map', 'containerPort', 'merge'],
  );
  assert.deepEqual(at(container, 'properties', 'imagePullPolicy', 'enum'), ['Always', 'IfNotPresent', 'Never']);
  assert.deepEqual(at(schemas['io.k8s.api.core.v1.ContainerPort'], 'properties', 'protocol', 'default'), 'TCP');
  assert.deepEqual(at(schemas['io.k8s.api.core.v1.Pod'], 'x-kubernetes-group-version-kind'), [
    { group: '', kind: 'Pod', version: 'v1' },
  ]);
  assert.deepEqual(
    at(schemas['io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector'], 'x-kubernetes-map-type'),
    'atomic',
  );
  assert.equal(
    at(container, 'properties', 'livenessProbe', 'allOf', '0', '$ref'),
    '#/components/schemas/io.k8s.api.core.v1.Probe',
  );
});

test('every reference of every document resolves', () => {
  const v2 = openApi.v2();
  const documents: [JsonObject, string, JsonObject][] = [[v2, '#/definitions/', v2.definitions]];
  for (const path of Object.keys(openApi.v3Index()['paths'] as object)) {
    const doc = document(path);
    documents.push([doc, '#/components/schemas/', at(doc, 'components', 'schemas') as JsonObject]);
  }
  for (const [doc, prefix, definitions] of documents) {
    for (const [, ref = ''] of JSON.stringify(doc).matchAll(/"\$ref":"([^"]+)"/g)) {
      assert.ok(ref.startsWith(prefix) && Object.hasOwn(definitions, ref.slice(prefix.length)), ref);
    }
  }
});

test('the protobuf of v2 holds every definition and path', () => {
  const bytes = openApi.v2Protobuf();
  const r = new PbReader(bytes);
  const seen: Record<number, number> = {};
  let definitions = 0;
  while (r.at < r.end) {
    const tag = r.uint32();
    seen[tag >>> 3] = (seen[tag >>> 3] ?? 0) + 1;
    if (tag >>> 3 !== 9) {
      r.skip(tag & 7);
      continue;
    }
    r.message(() => {
      while (r.at < r.end) {
        assert.equal(r.uint32(), 10);
        definitions++;
        r.message(() => assert.equal(r.uint32(), 10));
      }
    });
  }
  assert.deepEqual(seen, { 1: 1, 2: 1, 8: 1, 9: 1 });
  assert.equal(definitions, Object.keys(openApi.v2().definitions).length);
  assert.equal(openApi.v2Protobuf(), bytes);
});
