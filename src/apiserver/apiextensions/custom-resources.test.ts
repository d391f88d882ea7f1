import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CustomResourceDefinition } from '../../api/gen/apiextensions-v1.ts';
import { createMemoryStore } from '../../storage/memory/memory-store.ts';
import { createServerStorage } from '../server-storage.ts';
import { testPlatform, type TestServer } from '../server-fixture.ts';
import {
  DEFINITIONS,
  settle,
  startCustomServer,
  startWithWidgets,
  versionOf,
  widget,
  WIDGETS,
  widgetDefinition,
} from './custom-fixture.ts';

const free = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

async function definitionOf({ send }: TestServer, name = 'widgets.example.com'): Promise<CustomResourceDefinition> {
  return (await send('GET', `${DEFINITIONS}/${name}`)).body as CustomResourceDefinition;
}

async function conditions(server: TestServer, name?: string): Promise<string[]> {
  const { status } = await definitionOf(server, name);
  return (status?.conditions ?? []).map((c) => `${c.type}=${c.status} ${c.reason}: ${c.message}`);
}

test('a definition is established, its resource discovered, described and served', async () => {
  const server = await startWithWidgets(free);
  const { send } = server;
  assert.deepEqual(await conditions(server), [
    'NamesAccepted=True NoConflicts: no conflicts found',
    'Established=True InitialNamesAccepted: the initial names have been accepted',
  ]);
  const { status } = await definitionOf(server);
  assert.deepEqual(status?.acceptedNames, {
    plural: 'widgets',
    kind: 'Widget',
    singular: 'widget',
    listKind: 'WidgetList',
    shortNames: ['wd'],
    categories: ['all'],
  });
  const list = (await send('GET', '/apis/example.com/v1')).body as {
    resources: { name: string; shortNames: string[] }[];
  };
  assert.deepEqual(list.resources[0]?.shortNames, ['wd']);
  const v3 = (await send('GET', '/openapi/v3/apis/example.com/v1')).text;
  assert.match(v3, /"com\.example\.v1\.Widget"/);
  assert.match((await send('GET', '/openapi/v2')).text, /"com\.example\.v1\.WidgetList"/);

  const made = await send('POST', WIDGETS, widget('a', { x: 0 }));
  assert.equal(made.status, 201, made.text);
  assert.equal(made.body.metadata.generation, 1);
  const read = await send('GET', `${WIDGETS}/a`);
  assert.deepEqual(read.body.spec, { x: 0 });
  const all = await send('GET', '/apis/example.com/v1/widgets');
  assert.equal(all.body.kind, 'WidgetList');
  assert.equal(all.body.items.length, 1);
  const patch = await send(
    'PATCH',
    `${WIDGETS}/a`,
    { spec: { y: 1 } },
    { 'content-type': 'application/merge-patch+json' },
  );
  assert.deepEqual([patch.status, patch.body.metadata.generation, patch.body.spec], [200, 2, { x: 0, y: 1 }]);
  const strategic = { 'content-type': 'application/strategic-merge-patch+json' };
  assert.equal((await send('PATCH', `${WIDGETS}/a`, {}, strategic)).status, 415);
  assert.equal((await send('DELETE', `${WIDGETS}/a`)).status, 200);
  assert.equal((await send('GET', `${WIDGETS}/a`)).status, 404);
});

test('a resource is served again after a restart', async () => {
  const platform = testPlatform();
  const store = createMemoryStore({ clock: platform.clock });
  const first = await startCustomServer({ storage: createServerStorage({ store, platform }) });
  await first.send('POST', DEFINITIONS, widgetDefinition(free));
  await settle();
  await first.send('POST', WIDGETS, widget('a', {}));
  await first.server.stop();
  const second = await startCustomServer({ storage: createServerStorage({ store, platform }) });
  assert.equal((await second.send('GET', `${WIDGETS}/a`)).status, 200);
});

test('names that another definition of the group has are refused until they are free', async () => {
  const server = await startWithWidgets(free);
  const other = {
    ...widgetDefinition(free, { names: { plural: 'gadgets', kind: 'Widget', shortNames: ['wd'] } }),
    metadata: { name: 'gadgets.example.com' },
  };
  assert.equal((await server.send('POST', DEFINITIONS, other)).status, 201);
  await settle();
  assert.deepEqual(await conditions(server, 'gadgets.example.com'), [
    'NamesAccepted=False ListKindConflict: "WidgetList" is already in use',
    'Established=False NotAccepted: not all names are accepted',
  ]);
  assert.equal((await server.send('GET', '/apis/example.com/v1/gadgets')).status, 404);
  await server.send('DELETE', `${DEFINITIONS}/widgets.example.com`);
  await settle();
  assert.equal(
    (await conditions(server, 'gadgets.example.com')).at(-1),
    'Established=True InitialNamesAccepted: the initial names have been accepted',
  );
  assert.equal((await server.send('GET', '/apis/example.com/v1/gadgets')).status, 200);
});

test('a definition is deleted after its instances, and these after their finalizers', async () => {
  const server = await startWithWidgets(free);
  const { send } = server;
  await send('POST', WIDGETS, widget('plain', {}));
  await send('POST', WIDGETS, widget('held', {}, { metadata: { name: 'held', finalizers: ['example.com/hold'] } }));
  assert.equal((await send('DELETE', `${DEFINITIONS}/widgets.example.com`)).status, 200);
  await settle();
  assert.equal(
    (await conditions(server)).at(-1),
    'Terminating=True InstanceDeletionInProgress: CustomResource deletion is in progress',
  );
  const refused = await send('POST', WIDGETS, widget('late', {}));
  assert.deepEqual(
    [refused.status, refused.body.message],
    [
      403,
      'widgets.example.com "late" is forbidden: create not allowed while custom resource definition is terminating',
    ],
  );
  const { resources } = (await send('GET', '/apis/example.com/v1')).body;
  assert.deepEqual(resources[0].verbs, ['delete', 'deletecollection', 'get', 'list', 'watch']);
  assert.equal((await send('GET', `${WIDGETS}/plain`)).status, 404);
  const merge = { 'content-type': 'application/merge-patch+json' };
  assert.equal((await send('PATCH', `${WIDGETS}/held`, { metadata: { finalizers: null } }, merge)).status, 200);
  await settle();
  assert.equal((await send('GET', `${DEFINITIONS}/widgets.example.com`)).status, 404);
  assert.equal((await send('GET', WIDGETS)).status, 404);
  assert.equal((await send('GET', '/apis/example.com')).status, 404);
});

test('versions share their objects; a new schema applies to stored objects', async () => {
  const server = await startWithWidgets({ type: 'object', properties: { a: { type: 'string' } } });
  const { send } = server;
  await send('POST', WIDGETS, widget('w', { a: 'x', b: 'pruned' }));
  assert.deepEqual((await send('GET', `${WIDGETS}/w`)).body.spec, { a: 'x' });
  const current = await definitionOf(server);
  const versions = [
    versionOf('v1', { type: 'object', properties: { a: { type: 'string' } } }, { storage: false, deprecated: true }),
    versionOf('v2', { type: 'object', properties: { a: { type: 'string' }, c: { type: 'integer', default: 5 } } }),
    versionOf('v3beta1', { type: 'object' }, { storage: false }),
    versionOf('v4', { type: 'object' }, { storage: false, served: false }),
    versionOf('v5', { type: 'object' }, { storage: false, deprecated: true }),
  ];
  const put = await send('PUT', `${DEFINITIONS}/widgets.example.com`, {
    ...current,
    spec: { ...current.spec, versions },
  });
  assert.equal(put.status, 200, put.text);
  assert.deepEqual(put.body.status.storedVersions, ['v1', 'v2']);
  await settle();
  const v2 = await send('GET', '/apis/example.com/v2/namespaces/default/widgets/w');
  // It is stored in v1, whose defaults it gets.
  assert.deepEqual([v2.body.apiVersion, v2.body.spec], ['example.com/v2', { a: 'x' }]);
  const v1 = await send('GET', `${WIDGETS}/w`);
  assert.deepEqual([v1.body.apiVersion, v1.body.spec], ['example.com/v1', { a: 'x' }]);
  const v5 = await send('GET', '/apis/example.com/v5/namespaces/default/widgets/w');
  assert.deepEqual(v5.headers['warning'], ['299 - "example.com/v5 Widget is deprecated"']);
  assert.deepEqual(v1.headers['warning'], ['299 - "example.com/v1 Widget is deprecated; use example.com/v2 Widget"']);
});

test('built-in kinds cannot be replaced by a definition; a group version is described completely', async () => {
  const server = await startCustomServer();
  const { send } = server;
  const group = 'apiextensions.k8s.io';
  const annotations = { 'api-approved.kubernetes.io': 'unapproved, a test' };
  for (const [plural, kind] of [
    ['customresourcedefinitions', 'Usurper'],
    ['things', 'Thing'],
  ] as const) {
    const definition = {
      ...widgetDefinition(free, { group, scope: 'Cluster', names: { plural, kind } }),
      metadata: { name: `${plural}.${group}`, annotations },
    };
    const { status, text } = await send('POST', DEFINITIONS, definition);
    assert.equal(status, 201, text);
    await settle();
  }
  assert.match(
    (await conditions(server, `things.${group}`)).join(),
    /KubernetesAPIApprovalPolicyConformant=False Unapproved/,
  );
  assert.equal((await send('GET', `/apis/${group}/v1/things`)).status, 200);
  const document = (await send('GET', `/openapi/v3/apis/${group}/v1`)).body;
  const names = Object.keys(document.components.schemas);
  assert.ok(names.includes('io.k8s.apiextensions.v1.Thing'));
  assert.ok(names.some((name) => name.endsWith('.CustomResourceDefinition')));
  await send('DELETE', `${DEFINITIONS}/customresourcedefinitions.${group}`);
  await settle();
  const left = (await send('GET', DEFINITIONS)).body.items as CustomResourceDefinition[];
  assert.deepEqual(
    left.map(({ metadata }) => metadata.name),
    [`things.${group}`],
  );
  const protobuf = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
  assert.equal((await send('GET', '/openapi/v2', undefined, { accept: protobuf })).status, 200);
});

test('finalizers without a domain-qualified name are accepted with a warning, once', async () => {
  const { send } = await startWithWidgets(free);
  const advice = (path: string): string =>
    `prefer a domain-qualified finalizer name${path} to avoid accidental conflicts with other finalizer writers`;
  const finalizers = ['widgets.op.example.com', 'plain', 'orphan', 'example.com/own'];
  const made = await send('POST', WIDGETS, widget('a', {}, { metadata: { name: 'a', finalizers } }));
  assert.equal(made.status, 201, made.text);
  assert.deepEqual(made.headers['warning'], [
    `299 - "metadata.finalizers: \\"plain\\": ${advice('')}"`,
    `299 - "metadata.finalizers: \\"widgets.op.example.com\\": ${advice(' including a path (/)')}"`,
  ]);
  const patch = { metadata: { finalizers: [...finalizers, 'more'] } };
  const headers = { 'content-type': 'application/merge-patch+json' };
  const changed = await send('PATCH', `${WIDGETS}/a`, patch, headers);
  assert.deepEqual(changed.headers['warning'], [`299 - "metadata.finalizers: \\"more\\": ${advice('')}"`]);
});

test('the metrics of a resource outlive a change of its definition, and end with it', async () => {
  const server = await startWithWidgets(free);
  const { send } = server;
  const created = async (): Promise<string | undefined> => {
    const { text } = await send('GET', '/metrics');
    return /^etcd_requests_total\{group="example.com",operation="create",resource="widgets"\} (\d+)$/m.exec(text)?.[1];
  };
  await send('POST', WIDGETS, widget('a', {}));
  assert.equal(await created(), '1');
  const path = `${DEFINITIONS}/widgets.example.com`;
  const added = { spec: { names: { shortNames: ['wd', 'wdg'] } } };
  const changed = await send('PATCH', path, added, { 'content-type': 'application/merge-patch+json' });
  assert.equal(changed.status, 200, changed.text);
  await settle();
  assert.equal(await created(), '1');
  await send('DELETE', `${WIDGETS}/a`);
  await send('DELETE', path);
  await settle();
  assert.equal(await created(), undefined);
});
