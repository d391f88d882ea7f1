import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Principal } from '../../api/transport.ts';
import type { HistoryBatch, HistoryLog } from '../../storage/history-log.ts';
import { createMemoryStore } from '../../storage/memory/memory-store.ts';
import { createHistoryHere } from '../../storage/sqlite/history/history-here-fixture.ts';
import { StoreError, type ValueCipher } from '../../storage/store.ts';
import type { AuthorizationAttributes } from '../authz/contract.ts';
import { createServerStorage } from '../server-storage.ts';
import { startTestServer, testPlatform, type TestServer } from '../server-fixture.ts';
import { fieldChanges } from './field-changes.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const limits = { sizeBytes: 64 << 20, ageMs: 86_400_000 };

interface Started extends TestServer {
  readonly batches: HistoryBatch[];
}

async function start(cipher?: ValueCipher, asked: AuthorizationAttributes[] = []): Promise<Started> {
  const platform = testPlatform();
  const { clock, log } = platform;
  const kept = createHistoryHere({ limits, clock, log });
  const batches: HistoryBatch[] = [];
  const history: HistoryLog = {
    open: (revision) => kept.open(revision),
    append: (batch) => (batches.push(batch), kept.append(batch)),
    read: (query) => kept.read(query),
    prune: () => kept.prune(),
    close: () => kept.close(),
  };
  const store = Object.assign(createMemoryStore({ clock }), { cipher });
  const storage = createServerStorage({ store, platform, history });
  const authorizer = {
    authorize(attributes: AuthorizationAttributes) {
      asked.push(attributes);
      const mayAll = attributes.user.groups.includes('system:masters');
      return { decision: mayAll || attributes.name === 'own' ? 'allow' : 'deny', reason: '' } as const;
    },
  };
  return { ...(await startTestServer({ storage, platform, authorizers: [authorizer] })), platform, batches };
}

test('whoever may get an object may read its history, also when it is gone, and nobody else', async () => {
  const asked: AuthorizationAttributes[] = [];
  const { send, server, request } = await start(undefined, asked);
  for (const name of ['own', 'other']) await send('POST', maps, { metadata: { name }, data: { a: '1' } });
  const principal: Principal = { name: 'eve', groups: ['system:authenticated'] };
  const statusOf = async (path: string): Promise<number> => {
    asked.length = 0;
    const response = await server.handler(request('GET', path, { principal }));
    assert.ok(response.kind === 'bytes');
    assert.deepEqual(
      asked.map(({ verb, resource, subresource, namespace }) => [verb, resource, subresource, namespace]),
      [['get', 'configmaps', '', 'default']],
    );
    return response.status;
  };
  const paths = (name: string): string[] => [
    `/keelson/v1/history${maps}/${name}`,
    `/keelson/v1/history${maps}/${name}?at=999`,
    `${maps}/${name}?resourceVersion=3&resourceVersionMatch=Exact`,
  ];
  for (const isGone of [false, true]) {
    for (const path of paths('other')) assert.equal(await statusOf(path), 403, path);
    for (const path of paths('own')) assert.notEqual(await statusOf(path), 403, path);
    for (const name of ['own', 'other']) if (!isGone) await send('DELETE', `${maps}/${name}`);
  }
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
  const { send, batches } = await start(cipher);
  const { body } = await send('POST', maps, { metadata: { name: 'm' }, data: { password: 'hunter2' } });
  await send('PUT', `${maps}/m`, { metadata: { name: 'm' }, data: { password: 'changed' } });
  const exact = `${maps}/m?resourceVersion=${body.metadata.resourceVersion}&resourceVersionMatch=Exact`;
  assert.equal((await send('GET', exact)).body.data.password, 'hunter2');
  assert.ok(batches.length > 0);
  for (const { records } of batches)
    for (const { value } of records.objects) assert.ok(!Buffer.from(value).includes('password'));
  hasKey = false;
  assert.equal((await send('GET', exact)).status, 410);
  const told = (await send('GET', `/keelson/v1/history${maps}/m`)).body.revisions;
  assert.match(told[0].unreadable, /cannot decrypt/);
  assert.equal(told[0].verb, 'update');
});

test('changes of a Secret name fields and hide their values', () => {
  const { fields } = fieldChanges({ data: { password: 'b25l' } }, { data: { password: 'dHdv', more: 'eA==' } }, true);
  assert.deepEqual(fields, [
    { path: 'data.password', from: '(hidden)', to: '(hidden)' },
    { path: 'data.more', from: undefined, to: '(hidden)' },
  ]);
});

test('items of lists are told apart by their names; other lists by places', () => {
  const container = (name: string, image: string): object => ({ name, image });
  const before = { spec: { containers: [container('a', '1'), container('b', '1')], args: ['x', 'y'] } };
  const after = { spec: { containers: [container('b', '2'), container('c', '1')], args: ['x', 'z'] } };
  assert.deepEqual(
    fieldChanges(before, after, false).fields.map(({ path }) => path),
    ['spec.containers[name=a]', 'spec.containers[name=b].image', 'spec.containers[name=c]', 'spec.args[1]'],
  );
});

test('two lists of a hundred thousand items are compared in one walk', () => {
  const list = (offset: number): object => ({
    items: Array.from({ length: 100_000 }, (_, index) => ({ name: `n${index + offset}` })),
  });
  const { fields, count } = fieldChanges(list(0), list(50_000), false);
  assert.deepEqual([fields.length, count], [100, 100_000]);
});
