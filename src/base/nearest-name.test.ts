import assert from 'node:assert/strict';
import { test } from 'node:test';
import { didYouMean, nearestName } from './nearest-name.ts';

test('a misspelt name yields the nearest one, or none where nothing is near', () => {
  const names = ['start', 'startError', 'exits', 'http', 'usage'];
  for (const [misspelt, meant] of [
    ['strat', 'start'],
    ['exit', 'exits'],
    ['htttp', 'http'],
    ['usages', 'usage'],
    ['Http', 'http'],
    ['startErorr', 'startError'],
    ['volumes', undefined],
    ['x', undefined],
  ] as const)
    assert.equal(nearestName(misspelt, names), meant, misspelt);
  assert.equal(didYouMean('usgae', names), '; did you mean usage?');
  assert.equal(didYouMean('volumes', names), '');
});
