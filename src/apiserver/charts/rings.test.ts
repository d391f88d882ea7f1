import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Rings } from './rings.ts';
import { SLOTS, Timeline } from './timeline.ts';

const KEPT = SLOTS - 1;

describe('timeline', () => {
  it('keeps an hour of complete samples; the current one is not shown', () => {
    const timeline = new Timeline();
    assert.deepEqual(timeline.kept(), []);
    for (let at = 0; at < 300; at++) timeline.newest = timeline.begin(at * 1000);
    timeline.begin(300_000);
    const kept = timeline.kept();
    assert.equal(kept.length, KEPT);
    assert.deepEqual([kept[0], kept.at(-1)], [300 - KEPT, 299]);
    assert.deepEqual(
      kept.map((slot) => timeline.timeMs(slot)),
      kept.map((slot) => slot * 1000),
    );
  });
});

describe('rings', () => {
  const write = (rings: Rings<string>, key: string, slot: number, preferred = false): boolean =>
    rings.write(key, key, { slot, values: [slot, -slot], preferred });

  it('return the written values, and none for slots before, after and between', () => {
    const rings = new Rings<string>({ measures: 2, most: 1 });
    for (const slot of [3, 4, 7]) write(rings, 'a', slot);
    assert.deepEqual(rings.read('a', 1, [2, 3, 4, 5, 6, 7, 8]), [NaN, -3, -4, NaN, NaN, -7, NaN]);
    assert.equal(rings.read('b', 0, [3]), undefined);
  });

  it('forget the hour before, also over a gap that is longer than the ring', () => {
    for (const gap of [1, 2, KEPT - 1, KEPT, SLOTS, SLOTS + 1, 5 * SLOTS]) {
      const rings = new Rings<string>({ measures: 2, most: 1 });
      for (let slot = 0; slot < 2 * SLOTS; slot++) write(rings, 'a', slot);
      const last = 2 * SLOTS - 1 + gap;
      write(rings, 'a', last);
      const slots = Array.from({ length: SLOTS + 1 }, (_, index) => last - SLOTS + index);
      const expected = slots.map((slot) => (slot === last || (slot < 2 * SLOTS && slot > last - SLOTS) ? slot : NaN));
      assert.deepEqual(rings.read('a', 0, slots), expected, `gap of ${gap}`);
    }
  });

  it('are bounded: a new one replaces one that ended, and a live one only if it is preferred', () => {
    const rings = new Rings<string>({ measures: 2, most: 3 });
    for (const slot of [0, 1, 2]) for (const key of ['a', 'b', 'c']) assert.ok(write(rings, key, slot));
    // All rings of the hour are written again: none may be replaced, whatever the order.
    assert.deepEqual(
      ['d', 'c', 'b', 'a'].map((key) => write(rings, key, 3)),
      [false, true, true, true],
    );
    assert.ok(write(rings, 'd', 4, true));
    assert.deepEqual(
      ['a', 'b', 'c'].map((key) => write(rings, key, 4)),
      [true, true, false],
      'the one that was written longest ago made room',
    );
    assert.equal(rings.read('c', 0, [3]), undefined);
    write(rings, 'a', 5);
    write(rings, 'b', 5);
    assert.ok(write(rings, 'c', 6), 'd has ended');
    assert.equal(rings.size, 3);
    assert.equal(rings.byteLength, 3 * SLOTS * 2 * 4);
  });

  it('that ended an hour ago are released', () => {
    const rings = new Rings<string>({ measures: 2, most: 9 });
    write(rings, 'a', 0);
    write(rings, 'b', 1);
    rings.forgetBefore(SLOTS - 1);
    assert.equal(rings.size, 2);
    rings.forgetBefore(SLOTS);
    assert.deepEqual([...rings.subjects()], [{ key: 'b', subject: 'b', first: 1 }]);
  });

  it('add up the known values', () => {
    const rings = new Rings<string>({ measures: 2, most: 2 });
    rings.write('a', 'a', { slot: 0, values: [1, 2] });
    rings.write('a', 'a', { slot: 1, values: [NaN, NaN] });
    rings.write('b', 'b', { slot: 1, values: [5, NaN] });
    const sums = new Float64Array(3).fill(Number.NaN);
    const slots = [0, 1, 2];
    const sizes = ['a', 'b', 'c'].map((key) => rings.addTo(sums, key, { measures: [0, 1], slots }));
    assert.deepEqual([...sums], [3, 5, NaN]);
    assert.deepEqual(sizes, [3, 5, 0]);
  });
});
