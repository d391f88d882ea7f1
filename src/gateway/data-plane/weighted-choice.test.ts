/** Shares across changes of the snapshot. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { route } from './data-plane-fixture.ts';
import { WeightedChoice } from './weighted-choice.ts';

test('a backend of 1 % gets its share although the snapshot changes with every tenth request', () => {
  const choice = new WeightedChoice();
  let rare = 0;
  for (let snapshot = 0; snapshot < 100; snapshot++) {
    const backends = [
      { backend: 'usual', weight: 99 },
      { backend: 'rare', weight: 1 },
    ];
    const own = route({ source: 'HTTPRoute ns/r', backends });
    choice.use([own, { ...own, host: 'another.example' }]);
    for (let request = 0; request < 10; request++) if (choice.choose(own)?.backend === 'rare') rare++;
  }
  assert.equal(rare, 10);
});

test('changed weights restart the distribution', () => {
  const choice = new WeightedChoice();
  const ofWeights = (one: number, two: number) =>
    route({ source: 'r', backends: [one, two].map((weight, at) => ({ backend: `b${at}`, weight })) });
  const before = ofWeights(1, 1);
  choice.use([before]);
  assert.equal(choice.choose(before)?.backend, 'b0');
  const after = ofWeights(1, 2);
  choice.use([after]);
  assert.deepEqual(
    [1, 2, 3].map(() => choice.choose(after)?.backend),
    ['b1', 'b0', 'b1'],
  );
});
