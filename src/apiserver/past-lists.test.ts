import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RangeRequest, RangeResult, Store } from '../storage/store.ts';
import { createMemoryStore } from '../storage/memory/memory-store.ts';
import { type PastReadCaller, MAX_WAITING_READS, PastReads } from './generic-registry/past-reads.ts';
import { answerPaceOf } from './turns.ts';
import type { Clock } from '../platform/clock.ts';
import { createServerStorage } from './server-storage.ts';
import { startTestServer, type TestServer, testPlatform } from './server-fixture.ts';

/** A request without a seat. */
const askerOf = (signal = new AbortController().signal): PastReadCaller => ({ signal, waitFor: (waiting) => waiting });

const MAPS = '/api/v1/namespaces/default/configmaps';
const COUNT = 100;

/** Counts the reads of past revisions from the store. */
class Reads {
  entries = 0;
  running = 0;
  mostRunning = 0;
  mostEntries = 0;

  async range(range: Store['range'], request: RangeRequest): Promise<RangeResult> {
    if (request.revision === undefined) return await range(request);
    this.mostRunning = Math.max(this.mostRunning, ++this.running);
    const result = await range(request);
    this.running--;
    this.entries += result.entries.length;
    this.mostEntries = Math.max(this.mostEntries, result.entries.length);
    return result;
  }
}

/** A server with objects n0..n99, then one more per revision, so that no list of these revisions is in memory. */
async function startWithPast(): Promise<{ server: TestServer; reads: Reads; revisions: string[] }> {
  const platform = testPlatform();
  const store = createMemoryStore({ clock: platform.clock });
  const reads = new Reads();
  const range = store.range.bind(store);
  store.range = (request) => reads.range(range, request);
  const server = await startTestServer({ storage: createServerStorage({ store, platform }), platform });
  const make = async (name: string, labels: object): Promise<string> => {
    const made = await server.send('POST', MAPS, { metadata: { name, labels }, data: { fill: 'x'.repeat(30_000) } });
    return made.body.metadata.resourceVersion as string;
  };
  for (let index = 0; index < COUNT; index++) await make(`n${index + 100}`, { odd: String(index % 2) });
  const revisions: string[] = [];
  for (let index = 0; index < 30; index++) revisions.push(await make(`z${index + 100}`, {}));
  await server.send('DELETE', `${MAPS}/n100`);
  return { server, reads, revisions };
}

const exact = (revision: string, more: string): string =>
  `${MAPS}?resourceVersion=${revision}&resourceVersionMatch=Exact${more}`;

test('exact lists of one object read one object each, and few at a time', async () => {
  const { server, reads, revisions } = await startWithPast();
  const pages = await Promise.all(revisions.map((revision) => server.send('GET', exact(revision, '&limit=1'))));
  for (const [index, { status, body }] of pages.entries()) {
    assert.deepEqual([status, body.items.length, body.items[0].metadata.name], [200, 1, 'n100']);
    assert.equal(body.metadata.remainingItemCount, COUNT + index);
  }
  assert.equal(reads.entries, revisions.length);
  assert.ok(reads.mostRunning <= 2, `${reads.mostRunning} at a time`);
});

test('lists of past revisions are whole, in pages and with selectors, and read about a megabyte at a time', async () => {
  const { server, reads, revisions } = await startWithPast();
  const names = async (more: string): Promise<string[]> => {
    const found: string[] = [];
    let token = '';
    for (;;) {
      const path = token === '' ? exact(revisions[0]!, more) : `${MAPS}?continue=${token}${more}`;
      const { status, body } = await server.send('GET', path);
      assert.equal(status, 200);
      assert.equal(body.metadata.resourceVersion, revisions[0]);
      for (const item of body.items) found.push(item.metadata.name as string);
      token = encodeURIComponent((body.metadata.continue as string | undefined) ?? '');
      if (token === '') return found;
    }
  };
  const all = [...Array.from({ length: COUNT }, (_, index) => `n${index + 100}`), 'z100'];
  const odd = all.filter((name) => name.startsWith('n') && Number(name.slice(1)) % 2 === 1);
  for (const more of ['', '&limit=7', '&limit=500', '&limit=101', '&limit=100'])
    assert.deepEqual(await names(more), all, more);
  for (const more of ['', '&limit=7', '&limit=50', '&limit=49'])
    assert.deepEqual(await names(`&labelSelector=odd=1${more}`), odd, more);
  assert.deepEqual(await names('&labelSelector=none&limit=3'), []);
  assert.deepEqual(await names('&fieldSelector=metadata.name=n150&limit=3'), ['n150']);
  assert.ok(reads.mostEntries <= 40, `${reads.mostEntries} entries of 30 kB at once`);
});

test('so many lists of past revisions may wait, and places are free again when they are done', async () => {
  const store = createMemoryStore({ clock: testPlatform().clock });
  await store.put({ key: 'a', value: Buffer.from('1') });
  await store.put({ key: 'a', value: Buffer.from('2') });
  const past = new PastReads(store);
  const read = async (): Promise<number> => {
    for await (const { entries } of past.pages({ start: 'a', end: 'b', revision: 2, most: 1 }, askerOf()))
      return entries.length;
    return 0;
  };
  const results = await Promise.allSettled(Array.from({ length: MAX_WAITING_READS + 10 }, read));
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, MAX_WAITING_READS + 2);
  assert.equal(await read(), 1);
});

test('nothing more is read for a client that has left, and nothing for one that left while it waited', async () => {
  const store = createMemoryStore({ clock: testPlatform().clock });
  for (let at = 0; at < 100; at++) await store.put({ key: `a${at + 100}`, value: Buffer.alloc(100_000) });
  const reads = new Reads();
  const range = store.range.bind(store);
  store.range = (request) => reads.range(range, request);
  const past = new PastReads(store);
  const gone = new AbortController();
  const leavers = Array.from({ length: 10 }, async () => {
    const pages = past.pages({ start: 'a', end: 'b', revision: 101, most: Infinity }, askerOf(gone.signal));
    for await (const { left } of pages) if (left > 0) gone.abort(new Error('the client left'));
  });
  for (const leaver of leavers) await assert.rejects(leaver, /the client left/);
  assert.ok(reads.entries <= 2 * 8, `${reads.entries} entries`);
  const { entries } = (await past.pages({ start: 'a', end: 'b', revision: 101, most: 1 }, askerOf()).next()).value!;
  assert.equal(entries.length, 1);
});

test('a stepwise response ends at the next step when its client has disconnected', async () => {
  const gone = new AbortController();
  const clock = { monotonicMs: () => 0, yield: async () => undefined } as unknown as Clock;
  const pace = answerPaceOf({ signal: gone.signal, pause: async () => undefined, turn: async () => undefined }, clock);
  await pace.yield();
  await pace.turn();
  gone.abort(new Error('the client left'));
  await assert.rejects(pace.yield(), /the client left/);
  await assert.rejects(async () => pace.turn(), /the client left/);
});
