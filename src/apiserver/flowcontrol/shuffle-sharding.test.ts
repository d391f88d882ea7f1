import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dealHand, hashFlow } from './shuffle-sharding.ts';

test('hands: so many different cards, the same for a flow, spread evenly, seldom all shared', async (t) => {
  for (const [deck, size] of [
    [64, 6],
    [128, 6],
    [16, 4],
    [1, 1],
    [8, 8],
  ] as const)
    await t.test(`${size} of ${deck}`, () => {
      const dealt = Array.from({ length: deck }, () => 0);
      for (let flow = 0; flow < 2000; flow++) {
        const hand = dealHand(hashFlow('schema', `user-${flow}`), deck, size);
        assert.deepEqual(hand, dealHand(hashFlow('schema', `user-${flow}`), deck, size));
        assert.equal(new Set(hand).size, size);
        assert.ok(hand.every((card) => Number.isInteger(card) && card >= 0 && card < deck));
        for (const card of hand) dealt[card]!++;
      }
      const mean = (2000 * size) / deck;
      assert.ok(
        dealt.every((count) => Math.abs(count - mean) < 6 * Math.sqrt(mean) + 1),
        dealt.join(' '),
      );
    });
  const flooding = new Set(dealHand(hashFlow('s', 'flood'), 128, 6));
  const buried = Array.from({ length: 5000 }, (_, user) => dealHand(hashFlow('s', `u${user}`), 128, 6)).filter((hand) =>
    hand.every((card) => flooding.has(card)),
  );
  assert.equal(buried.length, 0);
});
