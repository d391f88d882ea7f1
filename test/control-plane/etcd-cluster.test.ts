import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createTestAuthority } from '../../src/platform/node/certificates-fixture.ts';
import { createNodeClock } from '../../src/platform/node/clock.ts';
import { createNodeRandom } from '../../src/platform/node/random.ts';
import { createMemoryLog } from '../../src/platform/sim/log.ts';
import { StoreError, type StoreErrorCode } from '../../src/storage/store.ts';
import { until } from '../integration/fixtures/until.ts';
import { startEtcd, startEtcdCluster, withoutEtcd } from '../../src/storage/etcd/etcd-fixture.ts';
import { createEtcdMembers } from '../../src/storage/etcd/members.ts';
import { createEtcdStore, type EtcdStoreOptions } from '../../src/storage/etcd/etcd-store.ts';

const platform = { clock: createNodeClock(), random: createNodeRandom(), log: createMemoryLog() };
const value = new TextEncoder().encode('v');
const all = { start: '', end: '\u{10ffff}' };
const open = (endpoints: readonly string[], more: Partial<EtcdStoreOptions> = {}) =>
  createEtcdStore({ endpoints, platform, ...more });
const says = (code: StoreErrorCode, text: RegExp) => (error: unknown) =>
  error instanceof StoreError && error.code === code && text.test(error.message);

describe('an etcd of one member', { skip: withoutEtcd }, () => {
  test('that does not run is unavailable, and the error has its address', async () => {
    await assert.rejects(open(['http://127.0.0.1:1']), says('unavailable', /connect ECONNREFUSED 127.0.0.1:1/));
  });

  test('keys of the registry are below the chosen prefix, in order', async (t) => {
    const etcd = await startEtcd();
    t.after(() => etcd.stop());
    const plain = await open([etcd.url]);
    const moved = await open([etcd.url], { prefix: '/other/place' });
    const seen: string[] = [];
    const watch = moved.watch(
      { start: '/registry/', end: '/registry0', afterRevision: 1 },
      { onEvents: (events) => seen.push(...events.map(({ key }) => key)), onError: () => undefined },
    );
    await moved.put({ key: '/registry/pods/a/b', value });
    await plain.put({ key: '/registry/pods/a/c', value });
    assert.deepEqual(
      (await plain.range(all)).entries.map(({ key }) => key),
      ['/other/place/pods/a/b', '/registry/pods/a/c'],
    );
    const own = await moved.range({ start: '/registry/', end: '/registry0' });
    assert.deepEqual(
      own.entries.map(({ key }) => key),
      ['/registry/pods/a/b'],
    );
    await until('the watch has seen it', async () => seen.length > 0);
    assert.deepEqual(seen, ['/registry/pods/a/b']);
    watch.stop();
    await Promise.all([plain.close(), moved.close()]);
  });

  test('removing a member that is already gone succeeds', async (t) => {
    const etcd = await startEtcd();
    t.after(() => etcd.stop());
    const members = createEtcdMembers(platform, { endpoints: [etcd.url] });
    t.after(() => members.close());
    await members.remove('12345');
    assert.deepEqual(
      (await members.list()).map(({ name }) => name),
      ['m0'],
    );
  });

  test('keys with a time to live expire unless they are written again', async (t) => {
    const etcd = await startEtcd();
    t.after(() => etcd.stop());
    const store = await open([etcd.url]);
    const gone = Promise.withResolvers<string>();
    store.watch(
      { ...all, afterRevision: 1 },
      {
        onEvents: (events) => events.forEach(({ type, key }) => type === 'delete' && gone.resolve(key)),
        onError: () => undefined,
      },
    );
    // Long enough for the next write even on a busy machine; `short` expires after the times of both.
    const ttlSeconds = 5;
    await store.put({ key: 'kept', value, ttlSeconds });
    await store.put({ key: 'kept', value });
    await store.put({ key: 'renewed', value, ttlSeconds });
    await store.put({ key: 'renewed', value, ttlSeconds: 3600 });
    await store.put({ key: 'short', value, ttlSeconds: ttlSeconds + 1 });
    assert.equal(await gone.promise, 'short');
    const left = await store.range(all);
    assert.deepEqual([left.entries.map(({ key }) => key), left.revision], [['kept', 'renewed'], 7]);
    await store.close();
  });

  test('a value above its limit is too large; a full one refuses with advice', async (t) => {
    const etcd = await startEtcd({ flags: ['--quota-backend-bytes', '200000'] });
    t.after(() => etcd.stop());
    const store = await open([etcd.url]);
    await assert.rejects(
      store.put({ key: 'a', value: new Uint8Array(9_000_000) }),
      says('tooLarge', /request is too large|message larger than max/),
    );
    await assert.rejects(
      async () => {
        // etcd updates its size when it commits, ten times a second; this many writes take longer.
        for (let at = 0; at < 1000; at++) await store.put({ key: `k${at}`, value: new Uint8Array(50_000) });
      },
      says('full', /mvcc: database space exceeded \(compact and defragment/),
    );
    assert.ok((await store.range(all)).count > 0, 'reads go on');
    await store.close();
  });

  test('restarting: the watch continues without a lost or repeated change', async (t) => {
    const etcd = await startEtcd();
    t.after(() => etcd.stop());
    const store = await open([etcd.url]);
    const revisions: number[] = [];
    const wake = Promise.withResolvers<void>();
    store.watch(
      { ...all, afterRevision: 1 },
      {
        onEvents(events) {
          revisions.push(...events.map(({ revision }) => revision));
          if (revisions.at(-1) === 4) wake.resolve();
        },
        onError: () => undefined,
      },
    );
    await store.put({ key: 'a', value });
    await etcd.kill('SIGKILL');
    await assert.rejects(
      async () => {
        // The first requests may still use the connection that is breaking.
        for (let tries = 0; ; tries++) {
          await store.put({ key: 'a', value }).catch((error: unknown) => {
            if (!says('unknownOutcome', /the connection was closed/)(error) || tries === 5) throw error;
          });
        }
      },
      says('unavailable', /writing a: connect ECONNREFUSED/),
    );
    await etcd.restart();
    await store.put({ key: 'b', value });
    await store.put({ key: 'c', value });
    await wake.promise;
    assert.deepEqual(revisions, [2, 3, 4]);
    await store.close();
  });

  test('stopped during a write: the outcome is unknown after the deadline, reads are unavailable', async (t) => {
    const etcd = await startEtcd();
    t.after(() => etcd.stop());
    const store = await open([etcd.url], { timeoutMs: 5_000 });
    await store.put({ key: 'a', value });
    await etcd.kill('SIGSTOP');
    await assert.rejects(
      store.put({ key: 'b', value }),
      says('unknownOutcome', /writing b: context deadline exceeded/),
    );
    await assert.rejects(store.get('a'), says('unavailable', /reading: /));
    await etcd.kill('SIGCONT');
    await etcd.stop();
    await store.close();
  });

  test('that hangs does not delay the end of the store: pending writes end with it, not at their own deadline', async (t) => {
    const etcd = await startEtcd();
    t.after(() => etcd.kill('SIGKILL'));
    const store = await open([etcd.url]);
    await etcd.kill('SIGSTOP');
    const write = store.put({ key: 'a', value }).catch((error: unknown) => error);
    await store.close();
    assert.doesNotMatch(String(await write), /deadline/);
  });
});

describe('an etcd with TLS', { skip: withoutEtcd }, () => {
  let folder: string;
  before(async () => (folder = await mkdtemp(join(tmpdir(), 'keelson-etcd-tls-'))));
  after(() => rm(folder, { recursive: true }));

  test('accepts only client certificates of its authority', async (t) => {
    const [authority, other] = await Promise.all([createTestAuthority('etcd-ca'), createTestAuthority('other')]);
    const server = await authority.issue('CN=etcd', ['127.0.0.1']);
    const files = { caFile: join(folder, 'ca'), certFile: join(folder, 'crt'), keyFile: join(folder, 'key') };
    await writeFile(files.caFile, authority.caPem);
    await writeFile(files.certFile, server.certPem);
    await writeFile(files.keyFile, server.keyPem);
    const etcd = await startEtcd({ tls: files });
    t.after(() => etcd.stop());
    const { caPem } = authority;
    const store = await open([etcd.url], { tls: { caPem, ...(await authority.issue('CN=keelson')) } });
    assert.ok((await store.put({ key: 'a', value, expectRevision: 0 })).ok);
    await store.close();
    const strange = await other.issue('CN=keelson');
    await assert.rejects(open([etcd.url], { tls: { caPem } }), says('unavailable', /asking for the revision: /));
    await assert.rejects(open([etcd.url], { tls: { caPem, ...strange } }), says('unavailable', /./));
    await assert.rejects(
      open([etcd.url], { tls: { ...strange, caPem: other.caPem } }),
      says('unavailable', /certificate/),
    );
  });
});

describe('an etcd of three members', { skip: withoutEtcd }, () => {
  test('another one takes over when one is killed, for calls and for the watch', async (t) => {
    const cluster = await startEtcdCluster(3);
    t.after(() => Promise.all(cluster.map((member) => member.stop())));
    const store = await open(
      cluster.map(({ url }) => url),
      { timeoutMs: 20_000 },
    );
    const seen: string[] = [];
    store.watch(
      { ...all, afterRevision: 1 },
      { onEvents: (events) => seen.push(...events.map(({ key }) => key)), onError: () => undefined },
    );
    let written = 0;
    for (const victim of [0, 1]) {
      await cluster[victim]!.kill('SIGKILL');
      for (let at = 0; at < 5; at++) {
        const key = `k${written++}`;
        for (;;) {
          try {
            await store.put({ key, value, expectRevision: 0 });
            break;
          } catch (error) {
            // The member died with a pending write, or there is an election: a read determines the outcome.
            assert.ok(
              error instanceof StoreError && ['unknownOutcome', 'unavailable'].includes(error.code),
              String(error),
            );
          }
        }
      }
      await cluster[victim]!.restart();
    }
    const { entries } = await store.range(all);
    assert.equal(entries.length, written);
    await until('the watch has seen all', async () => seen.length >= written);
    assert.deepEqual(seen.toSorted(), entries.map(({ key }) => key).toSorted());
    await store.close();
  });
});
