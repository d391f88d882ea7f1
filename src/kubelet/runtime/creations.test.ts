import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promiseHooks } from 'node:v8';
import { Creations } from './creations.ts';

test('a wait covers creations that had begun, not those that began later, whatever the order of their ends', async () => {
  const creations = new Creations();
  const seen: string[] = [];
  const answers = ['a', 'b', 'c'].map(() => Promise.withResolvers<void>());
  const begin = (at: number): Promise<void> => creations.run(() => answers[at]!.promise);
  const wait = (name: string): void => void creations.ended()?.then(() => seen.push(name));
  assert.equal(creations.ended(), undefined);
  const first = begin(0);
  wait('a');
  const second = begin(1);
  wait('a and b');
  wait('b and a');
  const third = begin(2);
  answers[1]!.reject(new Error('no room'));
  await assert.rejects(second, /no room/);
  await nextTurn();
  assert.deepEqual(seen, []);
  answers[0]!.resolve();
  await first;
  await nextTurn();
  assert.deepEqual(seen, ['a', 'a and b', 'b and a']);
  assert.notEqual(creations.ended(), undefined);
  answers[2]!.resolve();
  await third;
  assert.equal(creations.ended(), undefined);
});

test('the promises of waiting grow as the number of creations, though an event waits for each and those before', async () => {
  const promisesOf = async (count: number): Promise<number> => {
    let promises = 0;
    const stop = promiseHooks.onInit(() => void promises++);
    const creations = new Creations();
    const all = Array.from({ length: count }, () => {
      const made = creations.run(() => nextTurn());
      return [made, creations.ended()];
    });
    await Promise.all(all.flat());
    stop();
    return promises;
  };
  const [few, more] = [await promisesOf(100), await promisesOf(400)];
  assert.ok(few > 100, `${few} promises`);
  assert.ok(more < 5 * few, `${few} promises for 100, ${more} for 400`);
});
