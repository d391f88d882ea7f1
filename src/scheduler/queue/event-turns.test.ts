import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventTurns } from './event-turns.ts';

/** Each visit takes this long; pauses wait for `goOn`. */
function setUp(visitMs: number) {
  let nowMs = 0;
  const visited: string[] = [];
  const paused: (() => void)[] = [];
  const turns = new EventTurns<string>({
    clock: { monotonicMs: () => nowMs, yield: () => new Promise<void>((resolve) => paused.push(resolve)) },
    *visit(event) {
      for (let pod = 0; pod < 3; pod++) {
        nowMs += visitMs;
        visited.push(`${event}${pod}`);
        yield;
      }
    },
    overflow: (event) => visited.push(`all for ${event}`),
    failed: (error) => assert.fail(String(error)),
  });
  const goOn = async (): Promise<void> => {
    for (let resume = paused.shift(); resume !== undefined; resume = paused.shift()) {
      resume();
      for (let at = 0; at < 5; at++) await Promise.resolve();
    }
  };
  return { turns, visited, paused, goOn };
}

test('short visits take no turn', () => {
  const { turns, visited, paused } = setUp(0.1);
  for (const event of ['a', 'b']) turns.add(event);
  assert.deepEqual([visited.length, paused.length], [6, 0]);
});

test('long visits go on in later turns, in the order of the events', async () => {
  const { turns, visited, goOn } = setUp(2);
  for (const event of ['a', 'b']) turns.add(event);
  assert.deepEqual(visited, ['a0']);
  await goOn();
  assert.deepEqual(visited, ['a0', 'a1', 'a2', 'b0', 'b1', 'b2']);
});

test('when more events wait than are kept, all pods are retried', async () => {
  const { turns, visited, goOn } = setUp(2);
  for (let at = 0; at < 1003; at++) turns.add('e');
  assert.equal(visited.filter((text) => text === 'all for e').length, 1);
  await goOn();
  assert.ok(visited.length < 20, `${visited.length} visits`);
});
