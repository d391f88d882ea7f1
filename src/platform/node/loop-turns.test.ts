/** Long work of many callers: how much of it runs in one turn of the loop. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LoopTurns } from './loop-turns.ts';

/** A loop whose turns a test begins, and whose time the work advances. */
function createLoop() {
  let nowMs = 0;
  const immediates: (() => void)[] = [];
  const turns = new LoopTurns({
    nowMs: () => nowMs,
    nextTurn: (callback) => immediates.push(callback),
    afterMicrotasks: (callback) => queueMicrotask(() => process.nextTick(callback)),
  });
  return {
    turns,
    work: (milliseconds: number) => void (nowMs += milliseconds),
    /** One phase of immediates. */
    async turn() {
      for (const callback of immediates.splice(0)) callback();
      await new Promise(setImmediate);
    },
    isQuiet: () => immediates.length === 0,
  };
}

describe('turns of the loop', () => {
  test('of a hundred waiting pieces of 2 ms two run in a turn, in their order, with all their microtasks', async () => {
    const { turns, work, turn, isQuiet } = createLoop();
    const done: number[] = [];
    for (let piece = 0; piece < 100; piece++)
      void turns.yield().then(async () => {
        for (let hop = 0; hop < 10; hop++) await undefined;
        work(2);
        done.push(piece);
      });
    for (let count = 2; count <= 100; count += 2) {
      await turn();
      assert.equal(done.length, count);
    }
    assert.deepEqual(
      done,
      Array.from({ length: 100 }, (_, at) => at),
    );
    await turn();
    assert.ok(isQuiet());
  });

  test('long work runs alone in a turn', async () => {
    const { turns, work, turn } = createLoop();
    let done = 0;
    for (let piece = 0; piece < 3; piece++)
      void turns.yield().then(() => {
        work(50);
        done++;
      });
    for (let count = 1; count <= 3; count++) {
      await turn();
      assert.equal(done, count);
    }
  });

  test('the first long piece of a turn begins at once, the others go on one after the other', async () => {
    const { turns, work, turn, isQuiet } = createLoop();
    const begun: number[] = [];
    const begin = async (piece: number): Promise<void> => {
      await turns.turn();
      begun.push(piece);
      work(3);
    };
    for (let piece = 0; piece < 7; piece++) void begin(piece);
    await Promise.resolve();
    assert.deepEqual(begun, [0]);
    for (const count of [3, 5, 7]) {
      await turn();
      assert.equal(begun.length, count);
    }
    await turn();
    assert.ok(isQuiet());
    assert.equal(turns.turn(), undefined, 'a turn in which nobody works is free again');
  });

  test('sixteen short pieces begin in a turn at once; the others as long as there is time', async () => {
    const { turns, work, turn } = createLoop();
    let begun = 0;
    for (let piece = 0; piece < 40; piece++) {
      const due = turns.begin();
      const serve = (): void => {
        begun++;
        work(0.5);
      };
      if (due === undefined) serve();
      else void due.then(serve);
    }
    for (const count of [16, 24, 32, 40]) {
      assert.equal(begun, count);
      await turn();
    }
    assert.equal(turns.begin(), undefined);
  });

  test('flows take turns: one client of many pieces does not hold up another, nor the cluster', async () => {
    const { turns, work, turn } = createLoop();
    const done: string[] = [];
    const wait = (name: string, flow?: string): void =>
      void turns.yield(flow).then(() => {
        work(1);
        done.push(name);
      });
    for (let piece = 0; piece < 100; piece++) wait(`a${piece}`, '10.0.0.1');
    wait('b', '10.0.0.2');
    for (let piece = 0; piece < 3; piece++) wait(`own${piece}`);
    await turn();
    await turn();
    assert.deepEqual(done, ['own0', 'a0', 'own1', 'b', 'own2', 'a1', 'a2', 'a3']);
  });

  test('one that yields again and again leaves the others their turn', async () => {
    const { turns, work, turn } = createLoop();
    let steps = 0;
    void (async () => {
      for (; steps < 50; steps++) {
        await turns.yield();
        work(3);
      }
    })();
    let isDone = false;
    void turns.yield().then(() => (isDone = true));
    await turn();
    assert.ok(isDone);
    assert.ok(steps <= 2);
  });
});
