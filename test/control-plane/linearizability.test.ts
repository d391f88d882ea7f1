/** Sixteen clients on each store, a fixed number of operations, and a checker that is tested itself. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { createSeededRandom } from '../../src/platform/sim/random.ts';
import { startEtcd, withoutEtcd } from '../../src/storage/etcd/etcd-fixture.ts';
import { createEtcdStore, type EtcdStoreOptions } from '../../src/storage/etcd/etcd-store.ts';
import { registersOfApi } from '../linearizability/api-registers.ts';
import { check } from '../linearizability/checker.ts';
import type { History, Operation } from '../linearizability/history.ts';
import { startControlPlane } from './control-plane-fixture.ts';
import { openStores, storeNames } from '../linearizability/stores.ts';
import { registersOf, runWorkload } from '../linearizability/workload.ts';

const operations = { memory: 40_000, sqlite: 20_000, etcd: 6_000 };

for (const name of storeNames)
  test(`${name}: ${operations[name]} operations`, { skip: name === 'etcd' && withoutEtcd }, async (t) => {
    const { stores, close } = await openStores(name);
    t.after(close);
    const workload = { clients: 16, keys: 8, watchers: 4, operations: operations[name] };
    const history = await runWorkload(stores.map(registersOf), createSeededRandom(1), workload);
    assert.deepEqual(check(history), []);
    assert.equal(history.operations.length, operations[name] + 1);
    const counts = Map.groupBy(history.operations, ({ operation }) => operation.kind);
    for (const kind of ['get', 'list', 'write', 'lost'] as const)
      assert.ok((counts.get(kind)?.length ?? 0) > operations[name] / 100, `${kind}: ${counts.get(kind)?.length ?? 0}`);
  });

test('two API servers over one etcd: 2000 requests', { skip: withoutEtcd }, async (t) => {
  const stops: (() => Promise<void>)[] = [];
  t.after(async () => {
    for (const stop of stops.toReversed()) await stop();
  });
  const etcd = await startEtcd();
  stops.push(() => etcd.stop());
  const store = (platform: EtcdStoreOptions['platform']) => createEtcdStore({ endpoints: [etcd.url], platform });
  const a = await startControlPlane({ store, components: false });
  stops.push(() => a.stop());
  const other = { hostAddress: '127.0.0.2', pkiDir: join(a.directory, 'pki') };
  const b = await startControlPlane({ store, components: false, ...other });
  stops.push(() => b.stop());
  const ways = [registersOfApi(a.admin), registersOfApi(b.admin)];
  const workload = { clients: 16, keys: 4, watchers: 4, operations: 2_000 };
  const history = await runWorkload(ways, createSeededRandom(1), workload);
  assert.deepEqual(check(history), []);
  assert.equal(history.operations.length, 2_001);
});

describe('the checker', () => {
  const write = (key: string, expect: number, revision: number): Operation => ({
    kind: 'write',
    key,
    value: `v${revision}`,
    expect,
    revision,
  });
  const remove = (key: string, expect: number, revision: number): Operation => ({
    kind: 'write',
    key,
    value: undefined,
    expect,
    revision,
  });
  const get = (key: string, revision: number | undefined): Operation => ({
    kind: 'get',
    key,
    found: revision === undefined ? undefined : { revision, value: `v${revision}` },
  });
  const list = (revision: number, found: Record<string, number>): Operation => ({
    kind: 'list',
    revision,
    found: new Map(Object.entries(found).map(([key, at]) => [key, { revision: at, value: `v${at}` }])),
  });
  /** An operation with its beginning and end. */
  const history = (...operations: [Operation, number, number][]): History => ({
    operations: operations.map(([operation, begun, ended]) => ({ operation, begun, ended })),
    watches: [],
  });
  const lost = (expect: number, current: number | undefined): Operation => ({
    kind: 'lost',
    key: 'a',
    expect,
    current: current === undefined ? undefined : { revision: current, value: `v${current}` },
  });
  const cases: [string, History, RegExp | undefined][] = [
    [
      'one after the other',
      history([write('a', 0, 2), 0, 1], [get('a', 2), 2, 3], [write('a', 2, 3), 4, 5]),
      undefined,
    ],
    ['a read beside a write may see either', history([write('a', 0, 2), 0, 3], [get('a', undefined), 1, 2]), undefined],
    ['an old read', history([write('a', 0, 2), 0, 1], [get('a', undefined), 2, 3]), /older than 2/],
    [
      'reads that go back',
      history([write('a', 0, 2), 0, 9], [get('a', 2), 1, 2], [get('a', undefined), 3, 4]),
      /older/,
    ],
    ['a read of the future', history([get('a', 2), 0, 1], [write('a', 0, 2), 2, 3]), /had not begun/],
    [
      'a lost update',
      history([write('a', 0, 2), 0, 1], [write('a', 2, 3), 2, 5], [write('a', 2, 4), 3, 6]),
      /won against 2, but the key was at 3/,
    ],
    ['a write out of order', history([write('a', 0, 3), 0, 1], [write('b', 0, 2), 2, 3]), /before 3, which was known/],
    ['one revision twice', history([write('a', 0, 2), 0, 1], [write('b', 0, 2), 0, 1]), /two writes have revision 2/],
    [
      'a lost compare that should have won',
      history([write('a', 0, 2), 0, 1], [lost(2, 2), 2, 3]),
      /lost against what it expected/,
    ],
    [
      'a lost compare with an old value',
      history([write('a', 0, 2), 0, 1], [write('a', 2, 3), 2, 3], [lost(9, 2), 4, 5]),
      /older than 3/,
    ],
    [
      'a torn list',
      history([write('a', 0, 2), 0, 1], [write('b', 0, 3), 0, 1], [list(3, { b: 3 }), 2, 3]),
      /a is absent, not 2/,
    ],
    ['an old list', history([write('a', 0, 2), 0, 1], [list(1, {}), 2, 3]), /shows 1, but 2 was known/],
    [
      'a deletion',
      history([write('a', 0, 2), 0, 1], [remove('a', 2, 3), 2, 3], [get('a', undefined), 4, 5]),
      undefined,
    ],
  ];
  for (const [name, given, problem] of cases)
    test(name, () => {
      const found = check(given).join('; ');
      if (problem === undefined) assert.equal(found, '');
      else assert.match(found, problem);
    });

  test('a watch that misses, repeats or reorders changes is found', () => {
    const { operations: done } = history([write('a', 0, 2), 0, 1], [write('b', 0, 3), 2, 3], [write('a', 2, 4), 4, 5]);
    const change = (key: string, revision: number) => ({ key, revision, value: `v${revision}` });
    const [one, two, three] = [change('a', 2), change('b', 3), change('a', 4)];
    const watching = (changes: (typeof one)[], after = 1): string =>
      check({ operations: done, watches: [{ after, changes }] }).join();
    assert.equal(watching([one, two, three]), '');
    assert.equal(watching([three], 3), '');
    for (const wrong of [
      [one, three],
      [one, one, two, three],
      [two, one, three],
      [one, two, three, three],
      [one, two],
    ])
      assert.match(watching(wrong), /^watch 0 after 1: change \d is /);
  });
});
