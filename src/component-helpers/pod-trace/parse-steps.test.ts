import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSteps } from './parse-steps.ts';

const step = { name: 'sync', startMs: 5 };
const told = (steps: unknown, more: object = {}) =>
  parseSteps({ component: 'kube-scheduler', uid: 'u', steps, ...more }, 'kubelet');

test('steps of a node get the name of the component that was read, without control characters', () => {
  const read = told(
    [
      { ...step, detail: '\u001b[2Jx' },
      { ...step, parent: 0, endMs: 6 },
    ],
    { finishedMs: 9 },
  );
  assert.equal(read?.component, 'kubelet');
  assert.equal(read.steps[0]!.detail, ' [2Jx');
  assert.equal(read.steps[1]!.parent, 0);
});

test('values that are no list of steps are ignored, whatever their form', () => {
  const chain = (length: number) => Array.from({ length }, (_, at) => ({ ...step, ...(at > 0 && { parent: at - 1 }) }));
  assert.notEqual(told(chain(16)), undefined);
  for (const steps of [
    chain(900),
    Array.from({ length: 1001 }, () => step),
    [{ ...step, parent: 0 }],
    [{ ...step, parent: 'length' }],
    [{ ...step, parent: '__proto__' }],
    [{ ...step, name: {} }],
    [{ ...step, startMs: '5' }],
    [{ ...step, startMs: 1e300 }],
    [{ ...step, endMs: -1 }],
    [null],
    {},
    'text',
  ])
    assert.equal(told(steps), undefined, JSON.stringify(steps).slice(0, 80));
  for (const more of [{ uid: 1 }, { dropped: {} }, { finishedMs: '1' }]) assert.equal(told([step], more), undefined);
  for (const value of [null, 1, 'x', []]) assert.equal(parseSteps(value, 'kubelet'), undefined);
});
