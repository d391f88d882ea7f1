import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Heap } from './heap.ts';

interface Item {
  readonly key: string;
  readonly order: number;
}
const newHeap = (): Heap<Item> =>
  new Heap<Item>(
    (item) => item.key,
    (a, b) => a.order < b.order,
  );

test('items are popped in order, equal ones in the order of insertion', () => {
  const heap = newHeap();
  for (const item of [
    { key: 'c', order: 2 },
    { key: 'a', order: 1 },
    { key: 'b', order: 1 },
  ]) {
    heap.set(item);
  }
  assert.equal(heap.peek()?.key, 'a');
  assert.deepEqual([heap.pop()?.key, heap.pop()?.key, heap.pop()?.key, heap.pop()?.key], ['a', 'b', 'c', undefined]);
});

test('behaves as a sorted list under any sequence of changes', () => {
  const change = fc.record({
    op: fc.constantFrom('set', 'remove', 'pop'),
    key: fc.constantFrom(...'abcdefghij'),
    order: fc.nat(20),
  });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 200 }), (changes) => {
      const heap = newHeap();
      const model = new Map<string, number>();
      for (const { op, key, order } of changes) {
        if (op === 'set') {
          heap.set({ key, order });
          model.set(key, order);
        } else if (op === 'remove') {
          assert.equal(heap.remove(key)?.order, model.get(key));
          model.delete(key);
        } else {
          const popped = heap.pop();
          assert.equal(popped?.order, model.size === 0 ? undefined : Math.min(...model.values()));
          if (popped !== undefined) model.delete(popped.key);
        }
        assert.equal(heap.size, model.size);
      }
    }),
  );
});
