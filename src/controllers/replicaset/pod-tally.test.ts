import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Pods } from '../../api/gen/resources.ts';
import { compileLabelMap } from '../../api/label-selector.ts';
import { formatTime } from '../../api/time.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { stored } from '../../api/stored-fixture.ts';
import type { Stored } from '../../api/object.ts';
import { controllerOf } from '../../component-helpers/owner-references.ts';
import { availableAtMs, isPodActive, isPodReady, isPodTerminating } from '../../component-helpers/pods.ts';
import { indexPodsByController } from '../pod-events.ts';
import { createManualInformer } from '../manual-informer-fixture.ts';
import { createPodTallies, PodTally, type PodCounts, type TallyRules } from './pod-tally.ts';

const START_MS = 1_700_000_000_000;

/** Evaluates all pods, as upstream does. */
function recount(all: readonly Pod[], uid: string, { rules, nowMs }: { rules: TallyRules; nowMs: number }): PodCounts {
  const owned = all.filter((pod) => controllerOf(pod)?.uid === uid);
  const active = owned.filter((pod) => isPodActive(pod) && rules.selector.matches(pod.metadata.labels));
  const times = active.map((pod) => availableAtMs(pod, rules.minReadySeconds));
  const nextMs = Math.min(...times.filter((atMs) => atMs > nowMs));
  return {
    active: active.length,
    labeled: active.filter((pod) => compileLabelMap(rules.templateLabels).matches(pod.metadata.labels)).length,
    ready: active.filter(isPodReady).length,
    available: times.filter((atMs) => atMs <= nowMs).length,
    terminating: owned.filter(isPodTerminating).length,
    nextAvailableMs: nextMs === Infinity ? undefined : nextMs,
  };
}

const aPod = fc.record({
  name: fc.constantFrom('p0', 'p1', 'p2', 'p3', 'p4'),
  life: fc.constantFrom('1', '2'),
  controller: fc.constantFrom('a', 'a', 'a', 'b', undefined),
  labels: fc.constantFrom<Record<string, string> | undefined>(
    { app: 'web', tier: 'x' },
    { app: 'web' },
    { app: 'other' },
    undefined,
  ),
  phase: fc.constantFrom('Pending', 'Running', 'Running', 'Succeeded', 'Failed'),
  deleted: fc.boolean(),
  ready: fc.constantFrom(undefined, 'False', 'True', 'True'),
  sinceS: fc.option(fc.integer({ min: -20, max: 20 }), { nil: undefined }),
});
const someRules = fc.record({
  app: fc.constantFrom('web', 'other'),
  templateLabels: fc.constantFrom<Record<string, string>>({ app: 'web', tier: 'x' }, { app: 'web' }),
  minReadySeconds: fc.constantFrom(0, 0, 5, 15),
});
type PodFacts = typeof aPod extends fc.Arbitrary<infer T> ? T : never;
type Step = { pod: PodFacts } | { gone: string } | { passS: number } | { rules: unknown } | { owner: 'gone' };

function podOf(
  { name, life, controller, labels, phase, deleted, ready, sinceS }: PodFacts,
  nowMs: number,
): Stored<Pod> {
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'rs', uid: controller ?? '', controller: true };
  const since = sinceS === undefined ? {} : { lastTransitionTime: formatTime(nowMs + sinceS * 1000) };
  return stored({
    metadata: {
      name,
      namespace: 'ns',
      uid: `${name}-${life}`,
      ...(labels === undefined ? {} : { labels }),
      ...(controller === undefined ? {} : { ownerReferences: [owner] }),
      ...(deleted ? { deletionTimestamp: formatTime(nowMs) } : {}),
    },
    status: { phase, ...(ready === undefined ? {} : { conditions: [{ type: 'Ready', status: ready, ...since }] }) },
  });
}

test('for all additions, changes and deletions, and all clock changes, the tally equals a recount', () => {
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 8, arbitrary: fc.record({ pod: aPod }) },
    { weight: 1, arbitrary: fc.record({ gone: fc.constantFrom('p0', 'p1', 'p2', 'p3', 'p4') }) },
    { weight: 4, arbitrary: fc.record({ passS: fc.integer({ min: -20, max: 20 }) }) },
    { weight: 1, arbitrary: fc.record({ rules: someRules }) },
    { weight: 1, arbitrary: fc.constant({ owner: 'gone' } as const) },
  );
  fc.assert(
    fc.property(someRules, fc.array(step, { maxLength: 40 }), (first, steps) => {
      const told = createManualInformer(Pods);
      indexPodsByController(told.informer);
      const tallies = createPodTallies(told.informer);
      const owner = stored({ metadata: { name: 'rs', namespace: 'ns', uid: 'a' } });
      let facts = first;
      let nowMs = START_MS;
      for (const next of steps) {
        if ('pod' in next) told.put(podOf(next.pod, nowMs));
        else if ('gone' in next) told.remove(`ns/${next.gone}`);
        else if ('passS' in next) nowMs += next.passS * 1000;
        else if ('rules' in next) facts = next.rules as typeof first;
        else tallies.forget(owner);
        const { app, templateLabels, minReadySeconds } = facts;
        const rules = { selector: compileLabelMap({ app }), templateLabels, minReadySeconds };
        const tally = tallies.of(owner, rules);
        assert.deepEqual(tally.counts(nowMs), recount(told.list(), 'a', { rules, nowMs }));
        const owned = told.list().filter((pod) => controllerOf(pod)?.uid === 'a' && isPodActive(pod));
        const [mine, strange] = [true, false].map((is) =>
          owned.filter(({ metadata }) => rules.selector.matches(metadata.labels) === is),
        );
        assert.deepEqual(new Set(tally.active()), new Set(mine));
        assert.deepEqual(new Set(tally.toRelease()), new Set(strange));
      }
    }),
    { numRuns: 300, seed: 36 },
  );
});

test('a pod that was available ahead of its time is so no more once the clock is set right', () => {
  const facts = {
    name: 'p0',
    life: '1',
    controller: 'a',
    labels: { app: 'web' },
    phase: 'Running',
    deleted: false,
  } as const;
  const rules = { selector: compileLabelMap({ app: 'web' }), templateLabels: { app: 'web' }, minReadySeconds: 600 };
  const tally = new PodTally(rules, [podOf({ ...facts, ready: 'True', sinceS: 0 }, START_MS)]);
  const availableAt = (minutes: number): number => tally.counts(START_MS + minutes * 60_000).available;
  assert.deepEqual([0, 15, 1, 10].map(availableAt), [0, 1, 0, 1]);
});
