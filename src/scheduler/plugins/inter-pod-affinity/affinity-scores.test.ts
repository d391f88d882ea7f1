/** How many terms of running pods a pod is compared with. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WeightedPodAffinityTerm } from '../../../api/gen/core-v1.ts';
import { createSchedulerCache } from '../../cache/scheduler-cache.ts';
import { defaultArgs } from '../../config/plugin-args.ts';
import { testNode, testPod } from '../../scheduler-fixture.ts';
import { createPreferredTermIndex } from './affinity-scores.ts';
import { createTermReader } from './affinity-terms.ts';

const termAt = (at: number): WeightedPodAffinityTerm => ({
  weight: 1,
  podAffinityTerm: {
    topologyKey: 'kubernetes.io/hostname',
    labelSelector: { matchExpressions: [{ key: 'a', operator: 'NotIn', values: [`v${at}`] }] },
  },
});

test('of a running pod with thousands of preferred terms the first hundred count for others', () => {
  const preferredDuringSchedulingIgnoredDuringExecution = Array.from({ length: 2000 }, (_, at) => termAt(at));
  const podAntiAffinity = { preferredDuringSchedulingIgnoredDuringExecution };
  const cache = createSchedulerCache();
  cache.addNode(testNode('n'));
  cache.assume(testPod('p', { spec: { affinity: { podAntiAffinity } } }), 'n');
  const index = createPreferredTermIndex(
    createTermReader(() => undefined),
    defaultArgs.interPodAffinity,
  );
  const found = [...index.candidates(cache.snapshot(), {})];
  assert.equal(found.length, 100);
  assert.equal(found[99]?.term.term.selector.toString(), 'a notin (v99)');
});
