import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { stored } from '../../api/stored-fixture.ts';
import { formatTime } from '../../api/time.ts';
import { planReplicas } from './plan.ts';

const NOW_MS = 1_000_000_000;

const pod = (
  uid: string,
  { ageS, ready = true, cost = 0 }: { ageS: number; ready?: boolean; cost?: number },
): Stored<Pod> =>
  stored<Pod>({
    metadata: {
      uid,
      creationTimestamp: formatTime(NOW_MS - ageS * 1000),
      annotations: { 'controller.kubernetes.io/pod-deletion-cost': String(cost) },
    },
    spec: { nodeName: 'n', containers: [] },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
  });

test('each ready victim has its age relative to the youngest ready pod', () => {
  const cases: [pods: Stored<Pod>[], desired: number, ratios: readonly number[]][] = [
    [[pod('a', { ageS: 10 }), pod('b', { ageS: 40, cost: -1 }), pod('c', { ageS: 20, cost: -1 })], 1, [2, 4]],
    [[pod('a', { ageS: 10 }), pod('b', { ageS: 5, ready: false }), pod('c', { ageS: 40, cost: -1 })], 1, [4]],
    [[pod('a', { ageS: 10 }), pod('b', { ageS: 5, ready: false })], 1, []],
    [[pod('a', { ageS: 10 }), pod('b', { ageS: 20 })], 0, []],
  ];
  for (const [pods, desired, ratios] of cases) {
    const plan = planReplicas(desired, pods.length, { pods: () => pods, siblings: () => [], nowMs: NOW_MS });
    assert.equal(plan.action, 'delete');
    assert.deepEqual(plan.action === 'delete' && plan.ageRatios, ratios);
  }
});
