/** Limits of concurrent explanations: by account, and the queue. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { StatusError } from '../../api/status-error.ts';
import type { Principal } from '../../api/transport.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { ExplanationSlots } from './explanation-slots.ts';

const user = (name: string, ...groups: string[]): Principal => ({ name, groups });
const account = (namespace: string, name: string, node: string): Principal => ({
  ...user(`system:serviceaccount:${namespace}:${name}`),
  extra: { 'authentication.kubernetes.io/node-name': [node] },
});
const admin = user('kubernetes-admin', 'system:masters');
const isRefused = (error: unknown): boolean => error instanceof StatusError && error.status.code === 429;
const OTHERS = ['jane', 'joe', 'ann', 'bob', 'eve', 'kim', 'lee'];

/** Slots, and work in them that lasts until the test ends it. */
function scene() {
  const clock = new VirtualClock();
  const slots = new ExplanationSlots(clock);
  const ends = new Map<string, () => void>();
  const entered: string[] = [];
  const ask = (who: Principal, signal = new AbortController().signal, name = who.name): Promise<string> =>
    slots.run({ user: who, signal, waitFor: (waiting) => waiting }, async () => {
      entered.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
      return 'made';
    });
  const end = async (name: string): Promise<void> => {
    ends.get(name)!();
    await clock.advance(0);
  };
  return { clock, entered, ask, end };
}

describe('slots of explanations', () => {
  test('accounts of one namespace share two, on all nodes', async () => {
    const { ask, end } = scene();
    const works = [ask(account('tenant', 'a', 'n1')), ask(account('tenant', 'b', 'n2'))];
    await assert.rejects(ask(account('tenant', 'c', 'n3')), isRefused);
    await end('system:serviceaccount:tenant:a');
    works.push(ask(account('tenant', 'c', 'n3')));
    for (const name of ['b', 'c']) await end(`system:serviceaccount:tenant:${name}`);
    assert.deepEqual(await Promise.all(works), ['made', 'made', 'made']);
  });

  test('the last of all is kept for administrators; others wait in line, each with one question', async () => {
    const { ask, end, entered } = scene();
    const works = OTHERS.map((name) => ask(user(name)));
    const tom = ask(user('tom'));
    await assert.rejects(ask(user('tom')), isRefused);
    const lou = ask(user('lou'));
    works.push(ask(admin));
    assert.deepEqual(entered, [...OTHERS, admin.name]);
    await end(admin.name);
    assert.equal(entered.length, 8, 'only administrators get the last slot');
    await end('joe');
    await end('ann');
    assert.deepEqual(entered.slice(8), ['tom', 'lou']);
    for (const name of [...OTHERS.filter((one) => one !== 'joe' && one !== 'ann'), 'tom', 'lou']) await end(name);
    assert.deepEqual(
      await Promise.all([...works, tom, lou]),
      Array.from({ length: 10 }, () => 'made'),
    );
  });

  test('a request that waited ten seconds is refused, and one whose client disconnected uses no slot', async () => {
    const { ask, end, entered, clock } = scene();
    const works = OTHERS.map((name) => ask(user(name)));
    const leaves = new AbortController();
    const left = assert.rejects(ask(user('tom'), leaves.signal), /gone/);
    const late = assert.rejects(ask(user('lou')), isRefused);
    leaves.abort(new Error('gone'));
    await left;
    await clock.advance(10_000);
    await late;
    await end('joe');
    const later = ask(user('max'));
    for (const name of [...OTHERS.filter((one) => one !== 'joe'), 'max']) await end(name);
    await Promise.all([...works, later]);
    assert.deepEqual(entered, [...OTHERS, 'max']);
  });

  test('fifty wait at most', async () => {
    const { ask, clock } = scene();
    for (const name of OTHERS) void ask(user(name));
    const waiting = Array.from({ length: 50 }, (_, at) => assert.rejects(ask(user(`waiting-${at}`)), isRefused));
    await assert.rejects(ask(user('one-more')), isRefused);
    await clock.advance(10_000);
    await Promise.all(waiting);
  });
});
