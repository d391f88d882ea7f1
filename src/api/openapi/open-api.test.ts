import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../codec/own-property.ts';
import { PbReader } from '../codec/pb-reader.ts';
import { allResources } from '../gen/resources.ts';
import { createOpenApi } from './open-api.ts';
import { buildV2 } from './v2.ts';

const openApi = createOpenApi({ gitVersion: 'v1.36.0', resources: allResources });
const document = (path: string): JsonObject => JSON.parse(openApi.v3(path)?.text ?? assert.fail(path)) as JsonObject;

function at(value: unknown, ...path: string[]): unknown {
  return path.reduce<unknown>((here, key) => (here as JsonObject | undefined)?.[key], value);
}

test('the index names every group version, with a hash of the content', () => {
  const index = openApi.v3Index()['paths'] as Record<string, { serverRelativeURL: string }>;
  assert.match(index['api/v1']?.serverRelativeURL ?? '', /^\/openapi\/v3\/api\/v1\?hash=[0-9A-F]{16}$/);
  const served = allResources.map(({ group, version }) =>
    group === '' ? `api/${version}` : `apis/${group}/${version}`,
  );
  const groups = allResources.flatMap(({ group }) => (group === '' ? [] : [`apis/${group}`]));
  const others = ['api', 'apis', 'version', '.well-known/openid-configuration', 'openid/v1/jwks'];
  assert.deepEqual(Object.keys(index), [...new Set([...served, ...groups, ...others])].toSorted());
  assert.equal(openApi.v3('apis/nope/v1'), undefined);
  const other = createOpenApi({ gitVersion: 'v1.36.1', resources: allResources });
  assert.notEqual(other.v3('api/v1')?.hash, openApi.v3('api/v1')?.hash);
});

test('operations have the kinds and query parameters that kubectl looks up', () => {
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
    ['connect', 'connectCoreV1GetNamespacedPodExec'],
  );
});

test('the parameters of a path with one operation are the path’s, and a path without any has no list of them', () => {
  const { paths } = document('api/v1') as { paths: Record<string, JsonObject> };
  const names = (value: unknown): unknown => (value as { name: string }[] | undefined)?.map(({ name }) => name);
  const list = paths['/api/v1/configmaps']!;
  assert.equal(at(list, 'get', 'parameters'), undefined);
  assert.deepEqual((names(list['parameters']) as string[]).slice(0, 2), ['allowWatchBookmarks', 'continue']);
  const binding = paths['/api/v1/namespaces/{namespace}/bindings']!;
  assert.deepEqual(names(binding['parameters']), ['dryRun', 'fieldManager', 'fieldValidation', 'namespace', 'pretty']);
  assert.equal(at(paths['/api/v1/'], 'parameters'), undefined);
});

test('schemas have merge rules, references and enums', () => {
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

const noPause = (): undefined => undefined;

test('the v2 document is made in steps, once for concurrent requests, and has the text of JSON.stringify', async () => {
  const fresh = createOpenApi({ gitVersion: 'v1.36.0', resources: allResources });
  let pauses = 0;
  const pause = async (): Promise<void> => void pauses++;
  const [one, other] = await Promise.all([fresh.v2Text(pause), fresh.v2Text(pause)]);
  assert.equal(one, other);
  const wanted = JSON.stringify(fresh.v2());
  assert.ok(one.text === wanted);
  assert.ok(pauses >= 8, `${pauses} pauses`);
  assert.equal(fresh.v2Text(pause), one);
  const before = pauses;
  await fresh.v2Protobuf(pause);
  assert.ok(pauses >= before + 2);
});

test('a v2 document that failed is made again at the next request', async () => {
  let fails = true;
  const extraV2 = (): { paths: JsonObject; definitions: JsonObject } => {
    if (fails) throw new Error('not now');
    return { paths: {}, definitions: {} };
  };
  const fresh = createOpenApi({ gitVersion: 'v1.36.0', resources: [], extraV2 });
  await assert.rejects(async () => await fresh.v2Text(noPause), /not now/);
  fails = false;
  assert.match((await fresh.v2Text(noPause)).text, /^\{"swagger":"2.0"/);
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

test('the protobuf of v2 holds every definition and path', async () => {
  const bytes = await openApi.v2Protobuf(noPause);
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
  assert.equal(await openApi.v2Protobuf(noPause), bytes);
});

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly responses: Record<string, { readonly schema?: JsonObject }>;
  readonly produces?: readonly string[];
}

type PathItem = Record<string, Operation> & { readonly parameters?: Operation['parameters'] };

const swagger = JSON.parse((await openApi.v2Text(noPause)).text) as {
  paths: Record<string, PathItem>;
  definitions: JsonObject;
};
const METHODS = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options'];

test('no operation id occurs twice, and every part of a path is a parameter', () => {
  const ids = new Map<string, string>();
  for (const [path, item] of Object.entries(swagger.paths)) {
    const parts = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).toSorted();
    const declared = (item.parameters ?? []).filter((parameter) => parameter.in === 'path').map(({ name }) => name);
    assert.deepEqual(declared.toSorted(), parts, path);
    for (const method of METHODS) {
      const id = item[method]?.operationId;
      if (id === undefined) continue;
      assert.equal(ids.get(id), undefined, `${id}: ${ids.get(id)} and ${path}`);
      ids.set(id, path);
    }
  }
  assert.ok(ids.size > 1000, `${ids.size} operations`);
});

test('every reference of the documents resolves to a definition', async () => {
  const missing = (text: string, prefix: string, defined: JsonObject): string[] =>
    [...text.matchAll(/"\$ref":"([^"]+)"/g)]
      .map(([, ref = '']) => ref.slice(prefix.length))
      .filter((name) => !Object.hasOwn(defined, name));
  assert.deepEqual(missing((await openApi.v2Text(noPause)).text, '#/definitions/', swagger.definitions), []);
  for (const path of Object.keys(openApi.v3Index()['paths'] as object)) {
    const { text } = openApi.v3(path) ?? assert.fail(path);
    const schemas = at(JSON.parse(text), 'components', 'schemas') as JsonObject;
    assert.deepEqual(missing(text, '#/components/schemas/', schemas), [], path);
  }
});

const queryOf: readonly (readonly [string, readonly string[]])[] = [
  ['exec', ['command', 'container', 'stderr', 'stdin', 'stdout', 'tty']],
  ['attach', ['container', 'stderr', 'stdin', 'stdout', 'tty']],
  ['portforward', ['ports']],
  ['proxy', ['path']],
  [
    'log',
    [
      'container',
      'follow',
      'insecureSkipTLSVerifyBackend',
      'limitBytes',
      'pretty',
      'previous',
      'sinceSeconds',
      'stream',
      'tailLines',
      'timestamps',
    ],
  ],
];
for (const [subresource, expected] of queryOf)
  test(`the query parameters of pods/${subresource} are those of its options`, () => {
    const item = swagger.paths[`/api/v1/namespaces/{namespace}/pods/{name}/${subresource}`];
    const names = [...(item?.parameters ?? []), ...(item?.['get']?.parameters ?? [])]
      .filter((parameter) => parameter.in === 'query')
      .map(({ name }) => name);
    assert.deepEqual(names.toSorted(), expected);
  });

test('a deletion returns the object or a Status, as its resource declares', async () => {
  const returning = createOpenApi({
    gitVersion: 'v1.36.0',
    resources: allResources,
    returnsDeleted: ({ resource }) => resource === 'services',
  });
  const { paths } = JSON.parse((await returning.v2Text(noPause)).text) as typeof swagger;
  const result = (resource: string): unknown =>
    paths[`/api/v1/namespaces/{namespace}/${resource}/{name}`]?.['delete']?.responses['202']?.schema?.['$ref'];
  assert.equal(result('services'), '#/definitions/io.k8s.api.core.v1.Service');
  assert.equal(result('configmaps'), '#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.Status');
});

test('version 3 shows zero values as defaults, version 2 shows none', () => {
  const schemas = at(document('api/v1'), 'components', 'schemas');
  assert.equal(at(schemas, 'io.k8s.api.core.v1.Container', 'properties', 'name', 'default'), '');
  assert.equal(at(schemas, 'io.k8s.api.core.v1.Container', 'properties', 'image', 'default'), undefined);
  assert.deepEqual(at(schemas, 'io.k8s.api.core.v1.Pod', 'properties', 'spec', 'default'), {});
  const { properties } = swagger.definitions['io.k8s.api.core.v1.ContainerPort'] as { properties: JsonObject };
  assert.equal(at(properties, 'protocol', 'default'), undefined);
});

test('the v2 document is built in steps of a few resources, paths or definitions', () => {
  let steps = 0;
  const building = buildV2({ resources: allResources, gitVersion: 'v1.36.0', returnsDeleted: () => false });
  let next = building.next();
  for (; next.done !== true; next = building.next()) steps++;
  const { paths, definitions } = next.value;
  const items = allResources.length / 10 + Object.keys(paths).length / 50 + Object.keys(definitions).length / 20;
  assert.ok(steps >= items - 3, `${steps} steps`);
});
