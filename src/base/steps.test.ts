import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allSteps, stepByStep, type Steps } from './steps.ts';

function* count(to: number): Steps<number> {
  for (let i = 0; i < to; i++) yield;
  if (to > 5) throw new Error('too far');
  return to;
}

test('all steps at once give the result or the error', () => {
  assert.equal(allSteps(count(3)), 3);
  assert.throws(() => allSteps(count(6)), /too far/);
});

test('there is one pause between two steps', async () => {
  let pauses = 0;
  const pause = async (): Promise<void> => void pauses++;
  assert.equal(await stepByStep(count(3), pause), 3);
  assert.equal(pauses, 3);
  await assert.rejects(async () => await stepByStep(count(6), pause), /too far/);
  assert.equal(stepByStep(count(0), pause), 0);
});
