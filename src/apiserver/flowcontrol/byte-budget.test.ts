/** Large lists and bodies of many clients: how much is worked on at a time. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { StatusError } from '../../api/status-error.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { ByteBudget, type ByteLease, LIST_LIMITS } from './byte-budget.ts';

/** 90 for all, and 30 reserved for pieces of up to 7 of owners without running work. */
const limits = { what: 'lists', totalBytes: 120, ownBytes: 40, maxWaiting: 2, waitMs: 30_000 };
const user = (name: string) => ({ name, groups: [] });
const account = (name: string) => user(`system:serviceaccount:tenant:${name}`);

function createBudget() {
  const clock = new VirtualClock();
  const budget = new ByteBudget(clock, limits);
  const entered: string[] = [];
  const enter = async (
    who: ReturnType<typeof user>,
    bytes: number,
    name: string,
    signal?: AbortSignal,
  ): Promise<ByteLease> => {
    const lease = await budget.enter(who, bytes, signal);
    entered.push(name);
    return lease;
  };
  return { clock, budget, enter, entered };
}

const isRefused = (error: unknown): boolean => error instanceof StatusError && error.status.code === 429;

describe('a budget of bytes', () => {
  test('accounts of one namespace share their budget, and larger requests wait in order', async () => {
    const { budget, enter, entered } = createBudget();
    const first = await enter(account('a'), 30, 'a1');
    const second = enter(account('b'), 20, 'b1');
    const third = enter(account('c'), 10, 'c1');
    const other = await enter(user('jane'), 40, 'jane');
    assert.deepEqual(entered, ['a1', 'jane']);
    assert.throws(() => budget.enter(account('d'), 20), isRefused);
    first.end();
    first.end();
    (await second).end();
    (await third).end();
    other.end();
    assert.deepEqual(entered, ['a1', 'jane', 'b1', 'c1']);
    assert.equal(budget.bytes, 0);
  });

  test('all together have a bound; a piece larger than a part counts as the part, one of all clients at a time', async () => {
    const { budget, enter, entered } = createBudget();
    const leases = [await enter(user('a'), 40, 'a'), await enter(user('b'), 40, 'b')];
    const [huge, other] = [enter(user('c'), 900, 'c'), enter(user('d'), 41, 'd')];
    await undefined;
    assert.equal(entered.length, 2);
    for (const lease of leases) lease.end();
    const lease = await huge;
    lease.note(2000);
    assert.equal(budget.bytes, 40);
    const e = await enter(user('e'), 40, 'e');
    assert.deepEqual(entered, ['a', 'b', 'c', 'e']);
    lease.end();
    (await other).end();
    e.end();
    assert.equal(budget.bytes, 0);
  });

  test('waiting owners are served in turn', async () => {
    const { budget, enter, entered } = createBudget();
    const first = [await enter(user('flood'), 40, 'flood1'), await enter(user('b'), 40, 'b')];
    const waiting = [
      enter(user('flood'), 30, 'flood2'),
      enter(user('flood'), 30, 'flood3'),
      enter(user('c'), 40, 'c'),
      enter(user('d'), 40, 'd'),
    ];
    for (const lease of first) lease.end();
    for (const next of ['flood2', 'c', 'd', 'flood3']) {
      for (let turn = 0; turn < 5; turn++) await undefined;
      assert.ok(entered.includes(next), `${next} after ${entered.join()}`);
      const at = ['flood2', 'flood3', 'c', 'd'].indexOf(next);
      (await waiting[at]!).end();
    }
    assert.deepEqual(entered, ['flood1', 'b', 'flood2', 'c', 'd', 'flood3']);
    assert.equal(budget.bytes, 0);
  });

  test('a small request of an idle owner is admitted while others use the rest and wait for more', async () => {
    const { budget, enter, entered } = createBudget();
    const leases = [await enter(user('a'), 40, 'a'), await enter(user('b'), 40, 'b')];
    const waiting = enter(user('c'), 40, 'c');
    leases.push(await enter(user('polite'), 7, 'polite'));
    const second = enter(user('polite'), 7, 'polite2');
    const large = enter(user('d'), 8, 'd');
    await undefined;
    assert.deepEqual(entered, ['a', 'b', 'polite']);
    for (const lease of leases) lease.end();
    for (const lease of await Promise.all([waiting, second, large])) lease.end();
    assert.equal(budget.bytes, 0);
  });

  test('lists of 270 MiB that one client requests continuously delay no others', async () => {
    const clock = new VirtualClock();
    const budget = new ByteBudget(clock, LIST_LIMITS);
    const MIB = 1024 * 1024;
    let [now, most, isOver] = [0, 0, false];
    const flood = async (): Promise<void> => {
      while (!isOver) {
        try {
          const lease = await budget.enter(account('a'), 270 * MIB);
          most = Math.max(most, ++now);
          await clock.sleep(300);
          now--;
          lease.end();
        } catch {
          await clock.sleep(50);
        }
      }
    };
    const floods = Array.from({ length: 17 }, flood);
    for (let at = 0; at < 20; at++) {
      await clock.advance(777);
      const lease = budget.enter(user('jane'), at % 2 === 0 ? 450_000 : 60 * MIB);
      assert.ok(!(lease instanceof Promise), 'at once');
      lease.end();
    }
    isOver = true;
    await clock.advance(20_000);
    await Promise.all(floods);
    assert.equal(most, 1);
    assert.equal(budget.bytes, 0);
  });

  test('a request that waits too long is refused, and releases its place', async () => {
    const { clock, budget, enter } = createBudget();
    const lease = await enter(user('a'), 40, 'a1');
    const refused = assert.rejects(enter(user('a'), 40, 'a2'), isRefused);
    await clock.advance(30_000);
    await refused;
    lease.end();
    assert.equal(budget.bytes, 0);
    (await enter(user('a'), 40, 'a3')).end();
  });

  test('requests behind one that is refused are served at once', async () => {
    const { clock, enter, entered } = createBudget();
    const lease = await enter(user('a'), 20, 'a1');
    const refused = assert.rejects(enter(user('a'), 40, 'a2'), isRefused);
    await clock.advance(20_000);
    const behind = enter(user('a'), 10, 'a3');
    await clock.advance(10_000);
    await refused;
    assert.deepEqual(entered, ['a1', 'a3']);
    lease.end();
    (await behind).end();
  });

  test('a large request that waits for the total is not overtaken by later small ones', async () => {
    const { budget, enter, entered } = createBudget();
    const leases = [await enter(user('a'), 40, 'a1'), await enter(user('b'), 40, 'b1')];
    const large = enter(user('c'), 90, 'c');
    const small = [enter(user('d'), 10, 'd'), enter(user('a'), 5, 'a2')];
    for (const lease of leases) lease.end();
    (await large).end();
    for (const lease of await Promise.all(small)) lease.end();
    assert.deepEqual(entered, ['a1', 'b1', 'c', 'd', 'a2']);
    assert.equal(budget.bytes, 0);
  });

  test('a client that has disconnected keeps no place, and those behind it continue', async () => {
    const { clock, budget, enter, entered } = createBudget();
    const lease = await enter(user('a'), 20, 'a1');
    const gone = new AbortController();
    const left = assert.rejects(enter(user('a'), 40, 'a2', gone.signal), /gone/);
    const behind = enter(user('a'), 10, 'a3');
    gone.abort(new Error('gone'));
    await left;
    (await behind).end();
    lease.end();
    assert.deepEqual(entered, ['a1', 'a3']);
    assert.throws(() => budget.enter(user('a'), 1000, gone.signal), /gone/);
    assert.equal(budget.bytes, 0);
    assert.equal(clock.pendingTimers, 0);
  });

  test('a request larger than estimated counts with its real size', async () => {
    const { budget, enter } = createBudget();
    const lease = await enter(user('a'), 10, 'a');
    lease.note(5);
    assert.equal(budget.bytes, 10);
    lease.note(35);
    assert.equal(budget.bytes, 35);
    lease.end();
    lease.note(80);
    assert.equal(budget.bytes, 0);
  });

  test("users of the cluster's own are not counted", async () => {
    const { budget, enter } = createBudget();
    for (let at = 0; at < 10; at++) await enter(user('system:node:a'), 100, 'node');
    assert.equal(budget.bytes, 0);
  });
});
