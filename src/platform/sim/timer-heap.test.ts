import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createSeededRandom } from './random.ts';
import { TimerHeap, type HeapTimer } from './timer-heap.ts';

function timer(id: number, dueMs: number): HeapTimer {
  return { id, dueMs, run: () => undefined, periodMs: 0, pending: true };
}

it('returns timers by time, then by number, whatever is cancelled meanwhile', () => {
  const random = createSeededRandom('timer-heap');
  const heap = new TimerHeap();
  let expected: HeapTimer[] = [];
  for (let id = 0; id < 2000; id++) {
    const made = timer(id, random.int(300));
    heap.add(made);
    expected.push(made);
    if (random.int(3) > 0) {
      const victim = expected[random.int(expected.length)]!;
      assert.equal(heap.cancel(victim), true);
      assert.equal(heap.cancel(victim), false);
      expected = expected.filter((other) => other !== victim);
    }
    assert.equal(heap.size, expected.length);
    assert.equal(heap.peek()?.pending ?? true, true);
  }
  expected.sort((a, b) => a.dueMs - b.dueMs || a.id - b.id);
  assert.ok(expected.length > 100);
  for (const next of expected) {
    assert.equal(heap.peek(), next);
    assert.equal(heap.pop(), next);
    assert.equal(heap.cancel(next), false);
  }
  assert.equal(heap.pop(), undefined);
  assert.equal(heap.size, 0);
});

it('releases the callback of a cancelled timer, at any position', () => {
  const heap = new TimerHeap();
  const [first, second] = [timer(1, 10), timer(2, 20)];
  const { run } = second;
  heap.add(first);
  heap.add(second);
  heap.cancel(second);
  assert.notEqual(second.run, run);
  assert.equal(heap.peek(), first);
});
