import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Principal } from '../../api/transport.ts';
import type { HistoryLog } from '../../storage/history-log.ts';
import type { HistoryRecord } from '../../storage/history-record.ts';
import { HistoryRecords } from '../../storage/history-records.ts';
import { createMemoryStore } from '../../storage/memory/memory-store.ts';
import { createHistoryHere } from '../../storage/sqlite/history/history-here-fixture.ts';
import { StoreError, type ValueCipher } from '../../storage/store.ts';
import type { AuthorizationAttributes } from '../authz/contract.ts';
import { createServerStorage } from '../server-storage.ts';
import { startTestServer, testPlatform, type TestServer } from '../server-fixture.ts';
import { changedLog } from './history-log-fixture.ts';
import { fieldChanges } from './field-changes.ts';
import type { ObjectHistory } from './history-view.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';
const limits = { sizeBytes: 64 << 20, ageMs: 86_400_000 };

interface Started extends TestServer {
  readonly recorded: HistoryRecord[];
}

async function start(
  cipher?: ValueCipher,
  asked: AuthorizationAttributes[] = [],
  wrap = (log: HistoryLog): HistoryLog => log,
): Promise<Started> {
  const platform = testPlatform();
  const { clock, log } = platform;
  const kept = createHistoryHere({ limits, clock, log });
  const recorded: HistoryRecord[] = [];
  const history = changedLog(kept, {
    append: (batch) => (recorded.push(...(batch.records.objects ?? [])), kept.append(batch)),
  });
  const store = Object.assign(createMemoryStore({ clock }), { cipher });
  const storage = createServerStorage({ store, platform, history: wrap(history) });
  const authorizer = {
    authorize(attributes: AuthorizationAttributes) {
      asked.push(attributes);
      const mayAll = attributes.user.groups.includes('system:masters');
      return { decision: mayAll || attributes.name === 'own' ? 'allow' : 'deny', reason: '' } as const;
    },
  };
  return { ...(await startTestServer({ storage, platform, authorizers: [authorizer] })), platform, recorded };
}

/** The response to eve, who may get the object `own`. */
async function eveGets(
  { server, request }: TestServer,
  path: string,
  principal: Principal = { name: 'eve', groups: ['system:authenticated'] },
): Promise<{ status: number; text: string }> {
  const response = await server.handler(request('GET', path, { principal }));
  assert.ok(response.kind === 'bytes');
  return { status: response.status, text: Buffer.concat(response.chunks).toString() };
}

const pathsOf = (name: string, revision = 3): string[] => [
  `/keelson/v1/history${MAPS}/${name}`,
  `/keelson/v1/history${MAPS}/${name}?at=${revision}`,
  `/keelson/v1/history${MAPS}/${name}?at=2999-01-01T00:00:00Z`,
  `${MAPS}/${name}?resourceVersion=${revision}&resourceVersionMatch=Exact`,
];

test('an anonymous user gets public objects, and neither their past nor their neighbours', async () => {
  const anonymous: Principal = { name: 'system:anonymous', groups: ['system:unauthenticated'] };
  const server = await start();
  const { body } = await server.send('POST', MAPS, { metadata: { name: 'own' }, data: { a: '1' } });
  const revision = Number(body.metadata.resourceVersion);
  await server.send('PUT', `${MAPS}/own`, { metadata: { name: 'own' }, data: { a: '2' } });
  assert.equal((await eveGets(server, `${MAPS}/own`, anonymous)).status, 200);
  for (const path of [...pathsOf('own', revision), `/keelson/v1/refusals${MAPS}/own`]) {
    assert.equal((await eveGets(server, path)).status, 200, path);
    const { status, text } = await eveGets(server, path, anonymous);
    assert.equal(status, 403, path);
    assert.match(text, /needs credentials/);
  }
});

test('a user who may get an object may read its history; after its deletion only one who may get all', async () => {
  const asked: AuthorizationAttributes[] = [];
  const server = await start(undefined, asked);
  for (const name of ['own', 'other']) await server.send('POST', MAPS, { metadata: { name }, data: { a: '1' } });
  const statusOf = async (path: string): Promise<number> => {
    asked.length = 0;
    const { status } = await eveGets(server, path);
    assert.deepEqual(
      asked.map(({ verb, resource, subresource, namespace, name }) => [verb, resource, subresource, namespace, name]),
      [
        ['get', 'configmaps', '', 'default', path.includes('/own') ? 'own' : 'other'],
        ...(path.includes('/own') ? [['get', 'configmaps', '', '', '']] : []),
      ],
    );
    return status;
  };
  for (const isGone of [false, true]) {
    for (const path of pathsOf('other')) assert.equal(await statusOf(path), 403, path);
    for (const path of pathsOf('own')) assert.equal((await statusOf(path)) === 403, isGone, path);
    for (const name of ['own', 'other']) if (!isGone) await server.send('DELETE', `${MAPS}/${name}`);
  }
});

/** An object of the name `own` of a former tenant, and one of the present tenant. */
async function twoTenants(wrap?: (log: HistoryLog) => HistoryLog): Promise<Started & { former: number }> {
  const server = await start(undefined, [], wrap);
  const { send } = server;
  const { body } = await send('POST', MAPS, { metadata: { name: 'own' }, data: { former: 'hunter2' } });
  await send('PUT', `${MAPS}/own`, { metadata: { name: 'own' }, data: { former: 'hunter3' } });
  await send('DELETE', `${MAPS}/own`);
  await send('POST', MAPS, { metadata: { name: 'own' }, data: { mine: '1' } });
  await send('PUT', `${MAPS}/own`, { metadata: { name: 'own' }, data: { mine: '2' } });
  return { ...server, former: Number(body.metadata.resourceVersion) };
}

test('the past of an earlier object of the same name requires the right to get all objects', async () => {
  const server = await twoTenants();
  const { former, send } = server;
  const told = JSON.parse((await eveGets(server, `/keelson/v1/history${MAPS}/own`)).text) as ObjectHistory;
  assert.deepEqual(
    told.revisions.map(({ change }) => change),
    ['changed', 'created'],
  );
  assert.equal(told.before, undefined);
  for (let revision = former - 1; revision < former + 5; revision++) {
    for (const path of [...pathsOf('own', revision), `/keelson/v1/history${MAPS}/own?before=${revision}&limit=1`]) {
      const { text } = await eveGets(server, path);
      assert.ok(!/former|hunter/.test(text), `${path}: ${text}`);
    }
  }
  for (const path of pathsOf('own', former).slice(1, 2).concat(pathsOf('own', former).slice(3)))
    assert.match((await send('GET', path)).text, /hunter2/);
  assert.equal((await send('GET', `/keelson/v1/history${MAPS}/own`)).body.revisions.length, 5);
});

test('where the deletion between two objects of a name was not recorded, their states are not compared either', async () => {
  const server = await twoTenants((log) => ({
    ...log,
    open: (revision, sinceMs) => log.open(revision, sinceMs),
    read: (query) => log.read(query),
    prune: () => log.prune(),
    close: () => log.close(),
    newRecords: (lane) => log.newRecords(lane),
    append: (batch) => {
      const isBetween = (one: HistoryRecord) => one.change === 'deleted' || one.change === 'created';
      const objects = HistoryRecords.of([...(batch.records.objects ?? [])].filter((one) => !isBetween(one)));
      return log.append({ ...batch, records: { ...batch.records, objects } });
    },
  }));
  const { text } = await eveGets(server, `/keelson/v1/history${MAPS}/own`);
  assert.match(text, /data.mine|changed/);
  assert.ok(!/former|hunter/.test(text), text);
});

test('the past of an object older than its namespace requires the right to get all objects', async () => {
  const server = await start();
  const { send, platform } = server;
  await send('POST', MAPS, { metadata: { name: 'own' }, data: { former: 'hunter2' } });
  await send('PUT', `${MAPS}/own`, { metadata: { name: 'own' }, data: {} });
  await platform.clock.advance(5000);
  const path = `/keelson/v1/history${MAPS}/own`;
  assert.equal((await eveGets(server, path)).status, 200);
  await send('POST', '/api/v1/namespaces', { metadata: { name: 'default' } });
  assert.equal((await eveGets(server, path)).status, 403);
  assert.equal((await send('GET', path)).status, 200);
});

test('states are kept encrypted where the store encrypts them, and are lost with its key', async () => {
  let hasKey = true;
  const flip = (value: Uint8Array): Uint8Array => value.map((byte) => byte ^ 0x55);
  const cipher: ValueCipher = {
    seal: (_, value) => flip(value),
    unseal: (key, value) => {
      if (!hasKey) throw new StoreError('corrupt', `cannot decrypt ${key}`);
      return flip(value);
    },
  };
  const { send, recorded } = await start(cipher);
  const { body } = await send('POST', MAPS, { metadata: { name: 'm' }, data: { password: 'hunter2' } });
  await send('PUT', `${MAPS}/m`, { metadata: { name: 'm' }, data: { password: 'changed' } });
  const exact = `${MAPS}/m?resourceVersion=${body.metadata.resourceVersion}&resourceVersionMatch=Exact`;
  assert.equal((await send('GET', exact)).body.data.password, 'hunter2');
  assert.ok(recorded.length > 0);
  for (const { value } of recorded) assert.ok(!Buffer.from(value).includes('password'));
  hasKey = false;
  assert.equal((await send('GET', exact)).status, 410);
  const told = (await send('GET', `/keelson/v1/history${MAPS}/m`)).body.revisions;
  assert.match(told[0].unreadable, /cannot decrypt/);
  assert.equal(told[0].verb, 'update');
});

test('changes of a Secret name fields and hide their values', () => {
  const { fields } = fieldChanges(
    { data: { password: 'b25l' } },
    { data: { password: 'dHdv', more: 'eA==' } },
    { hidesValues: true },
  );
  assert.deepEqual(fields, [
    { path: 'data.password', from: '(hidden)', to: '(hidden)' },
    { path: 'data.more', from: undefined, to: '(hidden)' },
  ]);
});

test('items of lists are identified by their names; other lists by index', () => {
  const container = (name: string, image: string): object => ({ name, image });
  const before = { spec: { containers: [container('a', '1'), container('b', '1')], args: ['x', 'y'] } };
  const after = { spec: { containers: [container('b', '2'), container('c', '1')], args: ['x', 'z'] } };
  assert.deepEqual(
    fieldChanges(before, after, { hidesValues: false }).fields.map(({ path }) => path),
    ['spec.containers[name=a]', 'spec.containers[name=b].image', 'spec.containers[name=c]', 'spec.args[1]'],
  );
});

test('two lists of a hundred thousand items are compared in one walk', () => {
  const list = (offset: number): object => ({
    items: Array.from({ length: 100_000 }, (_, index) => ({ name: `n${index + offset}` })),
  });
  const { fields, count } = fieldChanges(list(0), list(50_000), { hidesValues: false });
  assert.deepEqual([fields.length, count], [100, 100_000]);
});
