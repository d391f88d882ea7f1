import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JSONSchemaProps } from '../../api/gen/apiextensions-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { TestServer } from '../server-fixture.ts';
import { DEFINITIONS, settle, startCustomServer, versionOf, widgetDefinition } from './custom-fixture.ts';

const text = { type: 'string' };
const merge = { 'content-type': 'application/merge-patch+json' };
const apply = { 'content-type': 'application/apply-patch+yaml' };

function pathOf(version: string, name = ''): string {
  return `/apis/example.com/${version}/namespaces/default/widgets${name}`;
}

function widgetOf(version: string, name: string, spec: object): object {
  return { apiVersion: `example.com/${version}`, kind: 'Widget', metadata: { name }, spec };
}

interface Spec {
  readonly storage: 'v1' | 'v2';
  readonly defaults: boolean;
}

/** Two versions with a field in common and one of their own. */
function versions({ storage, defaults }: Spec): object[] {
  const one = { common: text, one: text, ...(defaults && { byOne: { ...text, default: 'v1' } }) };
  const two = { common: text, two: text, ...(defaults && { byTwo: { ...text, default: 'v2' } }) };
  return [
    versionOf('v1', { type: 'object', properties: one }, { storage: storage === 'v1', subresources: { status: {} } }),
    versionOf('v2', { type: 'object', properties: two }, { storage: storage === 'v2', subresources: { status: {} } }),
  ];
}

async function start(spec: Spec = { storage: 'v2', defaults: true }): Promise<TestServer> {
  const server = await startCustomServer();
  const { status, text: body } = await server.send(
    'POST',
    DEFINITIONS,
    widgetDefinition({}, { versions: versions(spec) }),
  );
  assert.equal(status, 201, body);
  await settle();
  return server;
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly body: KubernetesObject & { readonly spec: object };
}

test('an object has the fields that both its version in the store and the requested one know, and the defaults of the store', async () => {
  const { send } = await start();
  const made = await send('POST', pathOf('v1'), widgetOf('v1', 'a', { common: 'x', one: 'y' }));
  assert.deepEqual([made.status, made.body.spec], [201, { common: 'x' }], made.text);
  assert.deepEqual((await send('GET', pathOf('v2', '/a'))).body.spec, { common: 'x', byTwo: 'v2' });
  await send('POST', pathOf('v2'), widgetOf('v2', 'b', { common: 'x', two: 'z' }));
  assert.deepEqual((await send('GET', pathOf('v1', '/b'))).body.spec, { common: 'x' });
  const list = await send('GET', pathOf('v1'));
  assert.deepEqual(
    list.body.items.map(({ spec }: Answer['body']) => spec),
    [{ common: 'x' }, { common: 'x' }],
  );
  const dry = await send('POST', `${pathOf('v1')}?dryRun=All`, widgetOf('v1', 'c', { common: 'x', one: 'y' }));
  assert.deepEqual(dry.body.spec, { common: 'x' });
});

test('a write in one version removes the fields that only the stored version has', async () => {
  const { send } = await start();
  await send('POST', pathOf('v2'), widgetOf('v2', 'a', { common: 'x', two: 'z' }));
  const changed = await send('PATCH', pathOf('v1', '/a'), { spec: { common: 'w', one: 'y' } }, merge);
  assert.deepEqual(changed.body.spec, { common: 'w' });
  assert.deepEqual((await send('GET', pathOf('v2', '/a'))).body.spec, { common: 'w', byTwo: 'v2' });
});

test('a write that changes nothing stores the object in the storage version, once', async () => {
  const { send } = await start({ storage: 'v2', defaults: false });
  await send('POST', pathOf('v2'), widgetOf('v2', 'a', { common: 'x' }));
  const definition = (await send('GET', `${DEFINITIONS}/widgets.example.com`)).body;
  const next = { ...definition, spec: { ...definition.spec, versions: versions({ storage: 'v1', defaults: false }) } };
  assert.equal((await send('PUT', `${DEFINITIONS}/widgets.example.com`, next)).status, 200);
  await settle();
  const before = (await send('GET', pathOf('v1', '/a'))).body;
  assert.deepEqual(before.spec, { common: 'x' });
  const first = (await send('PUT', pathOf('v1', '/a'), before)).body;
  assert.notEqual(first.metadata.resourceVersion, before.metadata.resourceVersion);
  assert.equal(first.metadata.generation, before.metadata.generation);
  assert.deepEqual(first.spec, { common: 'x' });
  const second = (await send('PUT', pathOf('v1', '/a'), first)).body;
  assert.equal(second.metadata.resourceVersion, first.metadata.resourceVersion);
});

type Managed = KubernetesObject['metadata']['managedFields'];

function owners(managedFields: Managed): unknown {
  return managedFields?.map(({ manager, apiVersion, fieldsV1 }) => [manager, apiVersion, fieldsV1]);
}

test('a change counts for the managers of another version as it looks there', async () => {
  const { send } = await start({ storage: 'v2', defaults: false });
  await send('POST', `${pathOf('v2')}?fieldManager=m`, widgetOf('v2', 'a', { common: 'x', two: 'z' }));
  const { body } = await send('PATCH', `${pathOf('v1', '/a')}?fieldManager=n`, { spec: { common: 'w' } }, merge);
  assert.deepEqual(owners(body.metadata.managedFields), [
    ['m', 'example.com/v2', { 'f:spec': { '.': {}, 'f:two': {} } }],
    ['n', 'example.com/v1', { 'f:spec': { 'f:common': {} } }],
  ]);
});

test('an object without a form in the version of a manager loses its managed fields, and no apply changes it', async () => {
  const { send } = await start({ storage: 'v2', defaults: false });
  await send('POST', `${pathOf('v2')}?fieldManager=m`, widgetOf('v2', 'a', { common: 'x' }));
  const config = { ...widgetOf('v1', 'a', { one: 'y' }) };
  const applied = await send('PATCH', `${pathOf('v1', '/a')}?fieldManager=n`, config, apply);
  assert.deepEqual([applied.status, applied.body.message], [500, '.spec.one: field not declared in schema']);
  const { body } = await send('PATCH', `${pathOf('v1', '/a')}?fieldManager=n`, { spec: { one: 'y' } }, merge);
  assert.equal(body.metadata.managedFields, undefined);
});

test('an apply that changes nothing sets no defaults of its version', async () => {
  const { send } = await start();
  await send('POST', pathOf('v1'), widgetOf('v1', 'a', { common: 'x' }));
  const { body } = await send(
    'PATCH',
    `${pathOf('v1', '/a')}?fieldManager=m`,
    widgetOf('v1', 'a', { common: 'x' }),
    apply,
  );
  assert.deepEqual([body.spec, body.metadata.generation], [{ common: 'x' }, 1]);
});

test('the entry of who scales has no time, and no defaults of the version', async () => {
  const server = await startCustomServer();
  const scale = { specReplicasPath: '.spec.n', statusReplicasPath: '.status.n' };
  const n = { type: 'integer' };
  const of = (name: string, properties: NonNullable<JSONSchemaProps['properties']>, storage: boolean): object =>
    versionOf(name, { type: 'object', properties }, { storage, subresources: { scale } });
  const both = [of('v1', { n, byOne: { ...text, default: 'v1' } }, false), of('v2', { n }, true)];
  await server.send('POST', DEFINITIONS, widgetDefinition({}, { versions: both }));
  await settle();
  await server.send('POST', `${pathOf('v2')}?fieldManager=m`, widgetOf('v2', 'a', { n: 1 }));
  const path = pathOf('v1', '/a/scale');
  await server.send('PATCH', `${path}?fieldManager=s`, { spec: { replicas: 2 } }, merge);
  const { body } = await server.send('GET', pathOf('v2', '/a'));
  const { time, ...entry } = body.metadata.managedFields[0];
  assert.deepEqual([entry.manager, time, entry.fieldsV1], ['s', undefined, { 'f:spec': { 'f:n': {} } }]);
  const config = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'a' }, spec: { replicas: 3 } };
  const conflict = await server.send('PATCH', `${path}?fieldManager=q`, config, apply);
  assert.deepEqual(
    [conflict.status, conflict.body.details.causes],
    [
      409,
      [
        {
          reason: 'FieldManagerConflict',
          message: 'conflict with "s" with subresource "scale" using autoscaling/v1',
          field: '.spec.replicas',
        },
      ],
    ],
  );
});
