import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { createMemoryLog } from '../../../platform/sim/log.ts';
import { VirtualClock } from '../../../platform/sim/virtual-clock.ts';
import type { HistoryFound, HistoryLane, HistoryLog, HistoryPart } from '../../history-log.ts';
import type { HistoryRecord } from '../../history-record.ts';
import { HistoryRecords } from '../../history-records.ts';
import { createHistoryHere } from './history-here-fixture.ts';
import { createSqliteHistory } from './sqlite-history.ts';

const LIMITS = { sizeBytes: 4 << 20, ageMs: 3_600_000 };
const START = 10;
const NOW = new VirtualClock().nowMs();

interface Place {
  readonly clock: VirtualClock;
  readonly log: ReturnType<typeof createMemoryLog>;
  readonly path: string;
  open(limits?: typeof LIMITS): HistoryLog;
}

function placeOf(t: TestContext, isWorker: boolean): Place {
  const clock = new VirtualClock();
  const log = createMemoryLog();
  const folder = mkdtempSync(join(tmpdir(), 'keelson-history-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'history.db');
  const create = isWorker ? createSqliteHistory : createHistoryHere;
  return { clock, log, path, open: (limits = LIMITS) => create({ path, limits, clock, log }) };
}

function record(key: string, revision: number, parts: Partial<HistoryRecord> = {}): HistoryRecord {
  return {
    key,
    revision,
    timeMs: NOW + revision,
    change: 'changed',
    value: Buffer.from(`${key} ${revision}`),
    ...parts,
  };
}

const append = (log: HistoryLog, records: readonly HistoryRecord[], lane: HistoryLane = 'objects') =>
  log.append({
    records: { [lane]: HistoryRecords.of(records) },
    gaps: [],
    covered: records.at(-1)?.revision ?? START,
  });
const read = (log: HistoryLog, key: string, more: Partial<Parameters<HistoryLog['read']>[0]> = {}) =>
  log.read({ lane: 'objects', key, limit: 1000, maxBytes: 1 << 30, ...more });

for (const isWorker of [false, true]) {
  const where = isWorker ? 'in a worker' : 'on this thread';

  test(`records survive merging and a restart, ${where}`, async (t) => {
    const place = placeOf(t, isWorker);
    const first = place.open();
    await first.open(START, NOW);
    const author = { user: 'ada', manager: 'kubectl', verb: 'patch', subresource: 'scale' };
    for (let round = 0; round < 200; round++)
      await append(first, [
        record('/a', START + 2 * round + 1, { author }),
        record(`/b${round}`, START + 2 * round + 2),
      ]);
    await first.close();
    const second = place.open();
    const { covered, lanes } = await second.open(START + 400, NOW);
    assert.deepEqual([covered, lanes.objects.since, lanes.objects.records], [START + 400, START, 400]);
    const { records, more } = await read(second, '/a');
    assert.deepEqual([records.length, more], [200, false]);
    assert.deepEqual(
      records.map(({ revision, value }) => `${revision} ${Buffer.from(value).toString()}`),
      Array.from({ length: 200 }, (_, index) => START + 399 - 2 * index).map(
        (revision) => `${revision} /a ${revision}`,
      ),
    );
    assert.deepEqual(records[0]!.author, author);
    assert.equal((await read(second, '/b7')).records.length, 1);
    assert.equal((await read(second, '/none')).records.length, 0);
    await second.close();
  });

  test(`parts of any size, between which segments are merged, yield the result of one part, ${where}`, async (t) => {
    const history = placeOf(t, isWorker).open();
    await history.open(START, NOW);
    const keys = Array.from({ length: 7 }, (_, index) => `/k/${index}`);
    let revision = START;
    const write = (): Promise<unknown> => append(history, [record(keys[(revision * 3) % 7]!, ++revision)]);
    while (revision < START + 150) await write();
    const lane = 'objects' as const;
    const [after, asOf] = [START + 40, revision];
    const moment = await history.locate({ lane, timeMs: NOW + after });
    assert.equal(moment.revision, after);
    const inParts = async (maxBytes: number, ask: (part: HistoryPart) => Promise<HistoryFound>): Promise<string[]> => {
      const found = new Map<string, number>();
      let from: number | undefined;
      let parts = 0;
      do {
        const { records, next } = await ask({ lane, from, maxBytes });
        for (const { key, revision: at } of records) if (at <= asOf) found.set(key, at);
        from = next;
        parts++;
        await write();
      } while (from !== undefined);
      assert.equal(parts > 1, maxBytes === 1);
      return [...found].map(([key, at]) => `${key} ${at}`).sort();
    };
    const changed = (part: HistoryPart) => history.changedKeys({ ...part, prefix: '/k/', start: '/k/2', after });
    const states = (part: HistoryPart) => history.states({ ...part, keys, at: after });
    for (const ask of [changed, states]) {
      const all = await inParts(1 << 30, ask);
      assert.equal(all.length, ask === changed ? 5 : 7);
      assert.deepEqual(await inParts(1, ask), all);
    }
    await history.close();
  });

  test(`a history of another store, and a file that is none, start again with a log line, ${where}`, async (t) => {
    const place = placeOf(t, isWorker);
    const first = place.open();
    await first.open(START, NOW);
    await append(first, [record('/a', 50)]);
    await first.close();
    const second = place.open();
    assert.equal((await second.open(20, NOW)).lanes.objects.records, 0);
    await second.close();
    writeFileSync(place.path, 'this is no database, whatever its name says');
    const third = place.open();
    await third.open(START, NOW);
    await append(third, [record('/a', 60)]);
    assert.equal((await read(third, '/a')).records.length, 1);
    await third.close();
    assert.equal(place.log.entries.filter(({ message }) => message.includes('starts empty')).length, 2);
    for (const name of readdirSync(join(place.path, '..')))
      assert.equal(statSync(join(place.path, '..', name)).mode & 0o777, 0o600, name);
  });

  test(`values of a megabyte end a page early, ${where}`, async (t) => {
    const log = placeOf(t, isWorker).open();
    await log.open(START, NOW);
    for (let revision = 11; revision < 19; revision++)
      await append(log, [record('/big', revision, { value: Buffer.alloc(1 << 20, revision) })]);
    const seen: number[] = [];
    let before: number | undefined;
    for (let more = true; more;) {
      const page = await read(log, '/big', { maxBytes: 3 << 20, before });
      assert.ok(page.records.length <= 3);
      seen.push(...page.records.map(({ revision }) => revision));
      before = seen.at(-1);
      more = page.more;
    }
    assert.deepEqual(seen, [18, 17, 16, 15, 14, 13, 12, 11]);
    await log.close();
  });
}

test('events have a share of their own: they never push out objects', async (t) => {
  const place = placeOf(t, false);
  const log = place.open({ sizeBytes: 200_000, ageMs: 3_600_000 });
  await log.open(START, NOW);
  await append(log, [record('/kept', 11)]);
  const noise = (revision: number) =>
    Buffer.from(Array.from({ length: 1000 }, (_, index) => Math.imul(revision * 1000 + index, 2654435761)).join());
  for (let revision = 12; revision < 100; revision++)
    await append(log, [record(`/event${revision}`, revision, { value: noise(revision) })], 'events');
  const { lanes } = await log.prune();
  assert.ok(lanes.events.since > START && lanes.events.sizeBytes <= 50_000);
  assert.equal(lanes.objects.since, START);
  assert.equal((await read(log, '/kept')).records.length, 1);
  await log.close();
});

test('a state that was known before its change was recorded is replaced by the record of the change', async (t) => {
  const log = placeOf(t, false).open();
  await log.open(START, NOW);
  await append(log, [record('/a', 11, { change: 'created' })]);
  await append(log, [record('/a', 11, { change: 'known', timeMs: 0 }), record('/a', 12)]);
  await append(log, [record('/b', 5, { change: 'known', timeMs: 0 }), record('/b', 13)]);
  const changes = async (key: string, limit: number) =>
    (await read(log, key, { limit })).records.map(({ revision, change }) => `${revision} ${change}`);
  assert.deepEqual(await changes('/a', 2), ['12 changed', '11 created']);
  assert.deepEqual(await changes('/b', 2), ['13 changed', '5 known']);
  const { records, next } = await read(log, '/b', { before: 13, limit: 1 });
  assert.deepEqual([records[0]!.revision, next?.revision], [5, 13]);
  await log.close();
});

test('consecutive gaps are joined, and dropped with the records before them', async (t) => {
  const place = placeOf(t, false);
  const log = place.open();
  await log.open(START, NOW);
  const gap = (after: number, until: number) => ({ lane: 'objects', after, until, changes: 2 }) as const;
  await log.append({ records: {}, gaps: [gap(20, 30)], covered: 30 });
  await log.append({ records: { objects: HistoryRecords.of([record('/a', 35)]) }, gaps: [gap(30, 33)], covered: 35 });
  const { gaps, status } = await read(log, '/a');
  assert.deepEqual(
    gaps.map(({ after, until, changes }) => [after, until, changes]),
    [[20, 33, 4]],
  );
  assert.equal(status.baseline, 33);
  await place.clock.advance(2 * LIMITS.ageMs);
  assert.deepEqual((await read(log, '/a')).gaps, []);
  await log.close();
});

test('the worker ends when there is nothing to do, and starts again', async (t) => {
  const place = placeOf(t, true);
  const log = place.open();
  await log.open(START, NOW);
  await append(log, [record('/a', 11)]);
  await place.clock.advance(60_000);
  assert.equal((await read(log, '/a')).records.length, 1);
  await log.close();
  await assert.rejects(read(log, '/a'), /the history is closed/);
});
