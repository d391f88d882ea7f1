/** Which budgets an eviction counts against, and how often pods are compared with them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { PodDisruptionBudget } from '../../../api/gen/policy-v1.ts';
import type { Stored } from '../../../api/object.ts';
import { testPod } from '../../scheduler-fixture.ts';
import { GuardingBudgets } from './guarding-budgets.ts';

const budget = (selector: object | undefined, more: object = {}): PodDisruptionBudget =>
  ({ metadata: { name: 'b', namespace: 'default' }, spec: { selector }, ...more }) as PodDisruptionBudget;
const labeled = (name: string, labels: Record<string, string>): Stored<Pod> => {
  const pod = testPod(name);
  return { ...pod, metadata: { ...pod.metadata, labels } };
};
const web = { matchLabels: { app: 'web' } };

test('a pod is guarded by the budgets of its namespace that select it and have not counted it', () => {
  const budgets = new GuardingBudgets([
    budget(web, { metadata: { name: 'b', namespace: 'other' } }),
    budget(web),
    budget({ matchLabels: { app: 'db' } }),
    budget({}),
    budget(undefined),
    budget(web, { status: { disruptionsAllowed: 3, disruptedPods: { p: '2026-01-01T00:00:00Z' } } }),
    budget({ matchExpressions: [{ key: 'app', operator: 'Exists' }] }),
  ]);
  const guarding = (name: string, labels: Record<string, string>): number[] => [...budgets.of(labeled(name, labels))];
  assert.deepEqual(guarding('p', { app: 'web' }), [1, 6]);
  assert.deepEqual(guarding('q', { app: 'web' }), [1, 5, 6]);
  assert.deepEqual(guarding('q', { app: 'none' }), [6]);
  assert.deepEqual(guarding('q', {}), []);
  assert.deepEqual(budgets.allowed(), [0, 0, 0, 0, 0, 3, 0]);
});

test('budgets are read once, not for each pod of each node', () => {
  let reads = 0;
  const counted = Array.from({ length: 100 }, () => ({
    ...budget(web),
    get metadata() {
      reads++;
      return { name: 'b', namespace: 'default' };
    },
    get spec() {
      reads++;
      return { selector: web };
    },
  }));
  const budgets = new GuardingBudgets(counted);
  for (let at = 0; at < 100; at++) assert.equal([...budgets.of(labeled(`p${at}`, { app: 'web' }))].length, 100);
  assert.equal(reads, 200);
});
