/** Large lists and bodies of many clients: how much is worked on at a time. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { StatusError } from '../../api/status-error.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { ByteBudget, type ByteLease } from './byte-budget.ts';

const limits = { what: 'lists', totalBytes: 100, ownBytes: 40, maxWaiting: 2, waitMs: 30_000 };
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
  test('accounts of one namespace share their part, and what does not fit waits in order', async () => {
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

  test('all together have a bound, and a piece larger than a part is let in alone', async () => {
    const { budget, enter, entered } = createBudget();
    const leases = [await enter(user('a'), 40, 'a'), await enter(user('b'), 40, 'b')];
    const large = enter(user('c'), 90, 'c');
    for (const lease of leases) {
      assert.equal(entered.length, 2);
      lease.end();
    }
    (await large).end();
    assert.equal(budget.bytes, 0);
  });

  test('who waits too long is refused, and leaves no place taken', async () => {
    const { clock, budget, enter } = createBudget();
    const lease = await enter(user('a'), 40, 'a1');
    const refused = assert.rejects(enter(user('a'), 40, 'a2'), isRefused);
    await clock.advance(30_000);
    await refused;
    lease.end();
    assert.equal(budget.bytes, 0);
    (await enter(user('a'), 40, 'a3')).end();
  });

  test('what waits behind one that is refused in the end has its turn at once', async () => {
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

  test('a large one that waits for the total is not passed by small ones that come later', async () => {
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

  test('a client that has left keeps no place, and those behind it go on', async () => {
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

  test('what turns out larger than thought counts as it is', async () => {
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
