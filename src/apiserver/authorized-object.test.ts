/** For every resource, sub-resource, scope, spelling of the path, verb and selector: the effect equals the authorized request. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubernetesObject } from '../api/object.ts';
import { apiVersionOf } from '../api/resource-info.ts';
import type { ApiRequest } from '../api/transport.ts';
import { DEFINITIONS, settle, versionOf } from './apiextensions/custom-fixture.ts';
import {
  type NotedServer,
  Notes,
  objectsOf,
  Seeds,
  startNotedServer,
  type Touched,
} from './authorized-object-fixture.ts';
import type { AuthorizationAttributes } from './authz/contract.ts';
import type { GenericStore } from './generic-registry/generic-store.ts';
import { customResourceDefinitionDefinition } from './registry/apiextensions/definition.ts';
import { startTestServer } from './server-fixture.ts';

const selectors = [
  '',
  'fieldSelector=metadata.name%3Dx',
  'fieldSelector=metadata.name%3Dy',
  'fieldSelector=metadata.name%3Dx,metadata.name%3Dy',
  'fieldSelector=metadata.name%3Dx&fieldSelector=metadata.name%3Dy',
  'fieldSelector=metadata.name!%3Dx',
  'fieldSelector=metadata.namespace%3Db',
  'labelSelector=a%3Db',
];
const watching = selectors.map((query) => (query === '' ? 'watch=true' : `watch=true&${query}`));
const writes = ['POST', 'PUT', 'PATCH', 'DELETE'];

interface Spelling {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly name: string;
  /** Server-side apply. */
  readonly applies?: boolean;
}

/** All requests on a resource. */
function* spellings({ info }: GenericStore): Generator<Spelling> {
  const root = info.group === '' ? `/api/${info.version}` : `/apis/${apiVersionOf(info)}`;
  const subresources = [...info.subresources.map(({ name }) => name), 'constructor', '__proto__'];
  const names = info.resource === 'namespaces' ? ['x', 'a'] : ['x'];
  for (const start of [`${root}/`, `${root}/watch/`, `/keelson/v1/seen${root}/`, `/keelson/v1/seen${root}/watch/`]) {
    for (const scope of [
      '',
      'namespaces/a/',
      'namespaces%2Fa/',
      'namespaces//a/',
      'namespaces//',
      'namespaces/a/namespaces/b/',
    ]) {
      const path = `${start}${scope}${info.resource}`;
      for (const query of [...selectors, ...watching]) yield { method: 'GET', path, query, name: '' };
      for (const method of writes) yield { method, path, query: '', name: 'new' };
      for (const query of selectors.slice(1)) yield { method: 'DELETE', path, query, name: '' };
      for (const name of names) {
        for (const query of [...selectors, 'watch=true']) yield { method: 'GET', path: `${path}/${name}`, query, name };
        for (const method of [...writes, 'constructor']) yield { method, path: `${path}/${name}`, query: '', name };
        yield { method: 'PUT', path: `${path}/absent`, query: '', name: 'absent' };
        for (const applied of [name, 'absent'])
          yield { method: 'PATCH', path: `${path}/${applied}`, query: 'fieldManager=m', name: applied, applies: true };
        yield { method: 'DELETE', path: `${path}/${name}`, query: 'fieldSelector=metadata.name%3Dy', name };
        yield { method: 'GET', path: `${path}/..%2f${name}`, query: '', name };
        for (const subresource of subresources)
          for (const method of ['GET', ...writes])
            yield { method, path: `${path}/${name}/${subresource}`, query: '', name };
      }
    }
  }
}

function bodyOf(store: GenericStore, { method, path, name, applies }: Spelling, turn: number): object | undefined {
  const labels = { turn: String(turn) };
  const more = { spec: { replicas: turn }, status: { replicas: turn } };
  const type = { apiVersion: apiVersionOf(store.info), kind: store.info.kind };
  if (applies) return { ...type, metadata: { name, labels } };
  if (method === 'PATCH') return { metadata: { labels }, ...more };
  // Custom resources are not written without it, and a Scale has its own.
  const head = store.definition.schema === undefined || path.endsWith('/scale') ? {} : type;
  if (method === 'POST') return { ...head, metadata: { name, labels }, ...more };
  if (method !== 'PUT') return undefined;
  // Custom resources are not updated without it.
  const cell = store.definition.schema && store.cache.get(store.keyOf({ namespace: 'a', name }));
  const resourceVersion = cell && String(cell.revision);
  return { ...head, metadata: { name, labels, ...(resourceVersion && { resourceVersion }) }, ...more };
}

/** The effects a verb may have. */
const effects: Readonly<Record<string, readonly Touched['effect'][]>> = {
  get: ['read', 'connect'],
  list: ['read'],
  watch: ['read'],
  create: ['create', 'connect'],
  update: ['change', 'connect'],
  patch: ['change', 'connect'],
  // Deleted objects with finalizers are marked.
  delete: ['delete', 'change', 'connect'],
  deletecollection: ['delete', 'change'],
};

/** The difference between the effect and the authorized request; undefined when they agree. */
function divergence(asked: AuthorizationAttributes, { info }: GenericStore, touched: Touched): string | undefined {
  if (asked.apiGroup !== info.group || asked.apiVersion !== info.version || asked.resource !== info.resource)
    return 'another resource';
  if (touched.subresource !== '*' && asked.subresource !== touched.subresource) return 'another sub-resource';
  if (!effects[asked.verb]?.includes(touched.effect)) return `${asked.verb} does ${touched.effect}`;
  if (asked.name !== '' && asked.name !== touched.name) return `the object ${touched.name}`;
  if (asked.name === '' && ['get', 'update', 'patch', 'delete'].includes(asked.verb)) return 'no name';
  const isNamespace = info.group === '' && info.resource === 'namespaces';
  if (isNamespace && asked.namespace !== '') return asked.namespace === touched.name ? undefined : 'another namespace';
  if (!info.namespaced) return asked.namespace === '' ? undefined : 'a namespace of what has none';
  if (asked.namespace === '' && !['list', 'watch', 'deletecollection'].includes(asked.verb) && asked.name !== '')
    return 'an object of no namespace';
  return asked.namespace === '' || asked.namespace === touched.namespace ? undefined : 'another namespace';
}

interface Table {
  readonly server: NotedServer;
  readonly seeds: Seeds;
  readonly faults: string[];
  /** Verbs and sub-resources that came to an object, by resource. */
  readonly served: Set<string>;
}

async function send(
  { server, faults }: Table,
  store: GenericStore,
  { spelling, turn }: { spelling: Spelling; turn: number },
) {
  const { method, path, query } = spelling;
  const stop = new AbortController();
  const bytes = Buffer.from(JSON.stringify(bodyOf(store, spelling, turn) ?? {}));
  const body: ApiRequest['body'] = {
    kind: 'bytes',
    read: async () => bytes,
    stream: async function* () {
      yield bytes;
    },
  };
  const patchType = `application/${spelling.applies ? 'apply-patch+yaml' : 'merge-patch+json'}`;
  const type = method === 'PATCH' ? patchType : 'application/json';
  const parts = { signal: stop.signal, headers: { 'content-type': type }, ...(method === 'GET' ? {} : { body }) };
  server.notes.clear();
  const response = await server.server.handler(server.request(method, query === '' ? path : `${path}?${query}`, parts));
  const status = response.kind === 'upgrade' ? 101 : response.kind === 'watch' ? 200 : response.status;
  const about = `${method} ${path}?${query} ${status}`;
  if (status >= 500) faults.push(about);
  const ok = status < 400;
  return { about, ok, shown: ok ? await objectsOf(server, response, () => stop.abort()) : [] };
}

/** The objects that were read or written. */
async function touchedBy(
  { server: { notes }, seeds }: Table,
  store: GenericStore,
  sent: { spelling: Spelling; shown: readonly KubernetesObject[] },
) {
  const touched: Touched[] = [...notes.touched];
  const subresource = notes.strategies[0] ?? '*';
  if (sent.spelling.method === 'GET') {
    for (const { metadata } of touched.length > 0 ? [] : sent.shown)
      touched.push({
        namespace: metadata.namespace ?? '',
        name: metadata.name ?? '',
        subresource: '*',
        effect: 'read',
      });
    return touched;
  }
  for (const { key, effect } of await seeds.undo()) {
    const { storagePrefix } = store.definition;
    assert.ok(storagePrefix !== '' && key.startsWith(storagePrefix), `${sent.spelling.path} wrote ${key}`);
    const parts = key.slice(storagePrefix.length).split('/');
    const [namespace, name] = store.info.namespaced ? parts : ['', ...parts];
    assert.equal(store.keyOf({ namespace: namespace!, name: name! }), key);
    touched.push({ namespace: namespace!, name: name!, subresource: effect === 'change' ? subresource : '*', effect });
  }
  return touched;
}

async function check(table: Table, store: GenericStore): Promise<number> {
  const { server, faults, served } = table;
  let turn = 0;
  for (const spelling of spellings(store)) {
    const { about, ok, shown } = await send(table, store, { spelling, turn: ++turn });
    const asked = server.notes.asked[0];
    const touched = await touchedBy(table, store, { spelling, shown });
    if (!ok) {
      if (touched.length > 0) faults.push(`${about}: refused, and yet done`);
      continue;
    }
    if (asked === undefined) faults.push(`${about}: nobody was asked`);
    else {
      for (const one of touched) {
        // The strategy of the object itself writes its scale.
        const known = asked.subresource === 'scale' && one.subresource === '' ? { ...one, subresource: '*' } : one;
        // Every creation must have been authorized as create, whatever the verb of the request.
        const asCreate = server.notes.asked.find(({ verb }) => verb === 'create');
        const why = divergence(one.effect === 'create' ? (asCreate ?? asked) : asked, store, known);
        if (why !== undefined) faults.push(`${about}: ${why}`);
      }
      if (touched.length > 0) served.add(`${asked.verb} ${asked.subresource}`);
    }
  }
  return turn;
}

/** Verbs that a resource claims to serve and no request reached. */
function unreached({ info, definition }: GenericStore, served: ReadonlySet<string>): string[] {
  const wanted = info.verbs.map((verb) => `${verb} `);
  const { objectSubresources, createSubresources, connectSubresources, scale } = definition;
  const known = new Set(
    Object.keys({ ...objectSubresources, ...createSubresources, ...connectSubresources, ...(scale && { scale }) }),
  );
  for (const { name, verbs } of info.subresources)
    if (known.has(name)) wanted.push(...verbs.map((verb) => `${verb} ${name}`));
  return wanted.filter((one) => !served.has(one)).map((one) => `${apiVersionOf(info)}/${info.resource}: ${one}`);
}

async function checkAll(server: NotedServer, isWanted: (store: GenericStore) => boolean) {
  const stores = [...server.storage.registry.served].filter(isWanted);
  const seeds = new Seeds(server);
  for (const store of stores) await seeds.add(store);
  await server.platform.clock.settle();
  await seeds.ignoreOthers();
  const faults: string[] = [];
  const idle: string[] = [];
  let count = 0;
  for (const store of stores) {
    const table: Table = { server, seeds, faults, served: new Set() };
    count += await check(table, store);
    idle.push(...unreached(store, table.served));
  }
  return { stores: stores.length, count, faults, idle };
}

test('of every built-in resource the object that is touched is the one that was authorized', async () => {
  const { stores, count, faults, idle } = await checkAll(
    await startNotedServer(),
    // A controller of the server writes to these by itself.
    ({ info }) => info.resource !== 'customresourcedefinitions',
  );
  assert.ok(stores > 80 && count > 20_000, `${count} requests on ${stores} resources`);
  assert.deepEqual(faults, []);
  assert.deepEqual(idle, []);
});

test('of custom resources of either scope the object that is touched is the one that was authorized', async () => {
  const notes = new Notes();
  const started = await startTestServer({
    definitions: [customResourceDefinitionDefinition],
    authorizers: [notes.authorizer],
  });
  const server = { ...started, notes };
  const scopes = [
    ['things', 'Namespaced', 'one.example.com'],
    ['globals', 'Cluster', 'one.example.com'],
    // These read like the prefixes of a path.
    ['namespaces', 'Namespaced', 'two.example.com'],
    ['watch', 'Namespaced', 'two.example.com'],
    ['namespaces', 'Cluster', 'three.example.com'],
    ['watch', 'Cluster', 'three.example.com'],
  ] as const;
  const replicas = { type: 'object', properties: { replicas: { type: 'integer' } } };
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec: replicas, status: replicas } } };
  const scale = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' };
  for (const [plural, scope, group] of scopes) {
    const versions = [versionOf('v1', {}, { schema, subresources: { status: {}, scale } })];
    const names = { plural, kind: `K${plural}` };
    const definition = { metadata: { name: `${plural}.${group}` }, spec: { group, scope, names, versions } };
    const { status, text } = await server.send('POST', DEFINITIONS, definition);
    assert.equal(status, 201, text);
    await settle();
  }
  const { stores, faults, idle } = await checkAll(server, ({ info }) => info.group.endsWith('example.com'));
  assert.equal(stores, scopes.length);
  assert.deepEqual(faults, []);
  // As upstream, a resource cannot be reached where its name reads like a prefix of the path.
  assert.deepEqual(
    idle.filter((one) => !/\/(watch|namespaces): /.test(one)),
    [],
  );
});

test('without the right to create, no request creates: neither apply nor PUT, nor a dry run', async () => {
  const server = await startNotedServer();
  const { registry } = server.storage;
  const faults: string[] = [];
  let refused = 0;
  server.notes.refusedVerb = 'create';
  for (const store of registry.served) {
    const { info, definition } = store;
    if (definition.storagePrefix === '') continue;
    const root = info.group === '' ? '/api/v1' : `/apis/${apiVersionOf(info)}`;
    const path = `${root}/${info.namespaced ? 'namespaces/a/' : ''}${info.resource}/absent`;
    const table: Table = { server, seeds: new Seeds(server), faults, served: new Set() };
    for (const applies of [true, false])
      for (const dryRun of ['', '&dryRun=All']) {
        const method = applies ? 'PATCH' : 'PUT';
        if (!info.verbs.includes(applies ? 'patch' : 'update')) continue;
        const spelling: Spelling = { method, path, query: `fieldManager=m${dryRun}`, name: 'absent', applies };
        const { about } = await send(table, store, { spelling, turn: 1 });
        if (about.endsWith(' 403')) refused++;
        else faults.push(about);
      }
    assert.equal(store.cache.get(store.keyOf({ namespace: 'a', name: 'absent' })), undefined, path);
  }
  assert.ok(refused > 200, String(refused));
  assert.deepEqual(faults, []);
});
