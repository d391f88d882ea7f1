import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { packedSlots, stickySlots, type Slot } from './slots.ts';

const names = (slots: readonly Slot[]): string => slots.map((s) => s.endpoint + (s.spare ? '*' : '')).join(' ');
const slots = (text: string): Slot[] =>
  text
    .split(' ')
    .filter((t) => t !== '')
    .map((t) => ({ endpoint: t.replace('*', ''), spare: t.endsWith('*') }));

describe('packed slots', () => {
  for (const [before, wanted, after] of [
    ['', 'a b', 'a b'],
    ['a b c', 'b c', 'c b'],
    ['a b c', 'a c', 'a c'],
    ['a b', 'b c d', 'c b d'],
    ['a b', 'c', 'c'],
    ['a', '', ''],
  ] as const) {
    it(`${before} → ${wanted}`, () =>
      assert.equal(
        names(
          packedSlots(
            slots(before),
            slots(wanted).map((s) => s.endpoint),
          ),
        ),
        after,
      ));
  }
});

describe('sticky slots', () => {
  for (const [before, wanted, after] of [
    ['', 'a b', 'a b'],
    ['a b c', 'b c', 'b* b c'],
    ['a b', 'b', 'b* b'],
    ['b* b', 'b c', 'c b'],
    ['b* b', 'a b', 'a b'],
    ['a b', 'a b c', 'a b c'],
    ['a b', '', ''],
    ['a b c d', 'a b', 'a b a* b*'],
  ] as const) {
    it(`${before} → ${wanted}`, () =>
      assert.equal(
        names(
          stickySlots(
            slots(before),
            slots(wanted).map((s) => s.endpoint),
          ),
        ),
        after,
      ));
  }

  it('never moves the own slot of an endpoint that stays, never shrinks, covers all, shares fairly', () => {
    const endpoints: fc.Arbitrary<string[]> = fc.uniqueArray(
      fc.constantFrom<string[]>('a', 'b', 'c', 'd', 'e', 'f', 'g'),
      { minLength: 1 },
    );
    fc.assert(
      fc.property(fc.array(endpoints, { maxLength: 8 }), (history) => {
        let now: readonly Slot[] = [];
        for (const wanted of history) {
          const next = stickySlots(now, wanted);
          for (const [i, slot] of now.entries())
            if (!slot.spare && wanted.includes(slot.endpoint)) assert.deepEqual(next[i], slot);
          assert.ok(next.length >= now.length);
          const counts = wanted.map((endpoint) => next.filter((s) => s.endpoint === endpoint).length);
          assert.equal(
            next.length,
            counts.reduce((sum, n) => sum + n, 0),
          );
          assert.ok(
            Math.min(...counts) >= 1 &&
              Math.max(...counts) - Math.min(...counts) <= Math.ceil(next.length / wanted.length),
          );
          assert.equal(next.filter((s) => !s.spare).length, wanted.length);
          now = next;
        }
      }),
    );
  });

  it('lends the slots of tens of thousands of endpoints that went', () => {
    const all = Array.from({ length: 30_000 }, (_, at) => `e${at}`);
    const left = all.slice(0, 10_000);
    const slots = stickySlots(stickySlots([], all), left);
    const counts = Map.groupBy(slots, ({ endpoint }) => endpoint);
    assert.equal(counts.size, left.length);
    assert.ok([...counts.values()].every((own) => own.length === 3));
  });
});
