import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../api/gen/core-v1.ts';
import type { Stored } from '../api/object.ts';
import { stored } from '../api/stored-fixture.ts';
import { VirtualClock } from '../platform/sim/virtual-clock.ts';
import { Expectations } from './expectations.ts';
import { rankPodsForDeletion } from './pod-deletion-ranking.ts';
import { computePodTemplateHash } from './pod-template-hash.ts';
import { availableAtMs, isPodAvailable, withPodCondition } from './pods.ts';
import { withCondition } from './workload-conditions.ts';

const nowMs = new VirtualClock().nowMs();
const time = (minutesAgo: number): string => {
  const at = 60 - minutesAgo;
  return `2025-12-31T23:${String(at).padStart(2, '0')}:00Z`;
};

interface PodFacts {
  readonly node?: string;
  readonly phase?: string;
  readonly readyMinutes?: number;
  readonly cost?: string;
  readonly restarts?: number;
  readonly ageMinutes?: number;
}

function pod(name: string, facts: PodFacts = {}): Stored<Pod> {
  const { node = 'n', phase = 'Running', readyMinutes = 30, cost, restarts = 0, ageMinutes = 40 } = facts;
  return stored<Pod>({
    metadata: {
      name,
      uid: name,
      creationTimestamp: time(ageMinutes),
      ...(cost === undefined ? {} : { annotations: { 'controller.kubernetes.io/pod-deletion-cost': cost } }),
    },
    spec: { containers: [], ...(node === '' ? {} : { nodeName: node }) },
    status: {
      phase,
      conditions: readyMinutes < 0 ? [] : [{ type: 'Ready', status: 'True', lastTransitionTime: time(readyMinutes) }],
      containerStatuses: [{ name: 'c', image: '', imageID: '', ready: true, restartCount: restarts }],
    },
  });
}

describe('pods to delete first', () => {
  const cases: [string, Stored<Pod>, Stored<Pod>][] = [
    ['unassigned before assigned', pod('z', { node: '', phase: 'Running' }), pod('a', { phase: 'Pending' })],
    ['pending before running', pod('z', { phase: 'Pending' }), pod('a', { readyMinutes: -1 })],
    ['unknown before running', pod('z', { phase: 'Unknown' }), pod('a', { readyMinutes: -1 })],
    ['not ready before ready', pod('z', { readyMinutes: -1 }), pod('a', { cost: '-5' })],
    ['lower cost first', pod('z', { cost: '-5' }), pod('a')],
    ['invalid costs count as none', pod('a', { cost: 'cheap' }), pod('z', { cost: '1' })],
    ['crowded node first', pod('z', { node: 'crowded' }), pod('a', { readyMinutes: 1 })],
    ['ready for a shorter time first', pod('z', { readyMinutes: 1 }), pod('a', { restarts: 9 })],
    ['more restarts first', pod('z', { restarts: 2 }), pod('a', { ageMinutes: 1 })],
    ['younger first', pod('z', { ageMinutes: 1 }), pod('a')],
    ['about as old: by uid', pod('a', { ageMinutes: 40 }), pod('z', { ageMinutes: 39 })],
  ];
  for (const [name, first, second] of cases) {
    it(name, () => {
      const rank = (p: Pod): number => (p.spec?.nodeName === 'crowded' ? 3 : 1);
      for (const order of [
        [first, second],
        [second, first],
      ]) {
        assert.deepEqual(
          rankPodsForDeletion(order, rank, nowMs).map((p) => p.metadata.name),
          [first.metadata.name, second.metadata.name],
        );
      }
    });
  }
});

describe('expectations', () => {
  it('hold until seen, or until five minutes passed', async () => {
    const clock = new VirtualClock();
    const expectations = new Expectations(clock);
    assert.equal(expectations.satisfied('rs'), true);
    expectations.expectCreations('rs', 2);
    expectations.creationObserved('rs');
    assert.equal(expectations.satisfied('rs'), false);
    expectations.creationObserved('rs');
    assert.equal(expectations.satisfied('rs'), true);
    expectations.expectDeletions('rs', ['a', 'b']);
    expectations.deletionObserved('rs', 'a');
    expectations.deletionObserved('rs', 'a');
    assert.equal(expectations.satisfied('rs'), false);
    await clock.advance(300_001);
    assert.equal(expectations.satisfied('rs'), true);
  });
});

describe('pod template hash', () => {
  it('depends on content, not on order, and on the collision count', () => {
    const a = { metadata: { labels: { x: '1', y: '2' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    const b = { spec: { containers: [{ image: 'i', name: 'c' }] }, metadata: { labels: { y: '2', x: '1' } } };
    assert.equal(computePodTemplateHash(a), computePodTemplateHash(b));
    assert.notEqual(computePodTemplateHash(a), computePodTemplateHash(a, 1));
    assert.match(computePodTemplateHash(a), /^[bcdfghjklmnpqrstvwxz2456789]{1,10}$/);
  });
});

describe('conditions', () => {
  it('availability counts from readiness', () => {
    const ready = pod('a', { readyMinutes: 1 });
    const unready = pod('b', { readyMinutes: -1 });
    const undated: Pod = { ...ready, status: { conditions: [{ type: 'Ready', status: 'True' }] } };
    const cases: [pod: Pod, minReadySeconds: number, atMs: number][] = [
      [ready, 0, -Infinity],
      [ready, 60, nowMs],
      [ready, 90, nowMs + 30_000],
      [undated, 0, -Infinity],
      [undated, 90, Infinity],
      [unready, 0, Infinity],
    ];
    for (const [each, minReadySeconds, atMs] of cases) {
      assert.equal(availableAtMs(each, minReadySeconds), atMs);
      assert.equal(isPodAvailable(each, minReadySeconds, nowMs), atMs <= nowMs);
    }
  });
  it('keep their transition time while the status stays', () => {
    const old = [{ type: 'Ready', status: 'True', lastTransitionTime: 't1' }];
    assert.equal(
      withPodCondition(old, { type: 'Ready', status: 'True', lastTransitionTime: 't2', reason: 'x' })[0]
        ?.lastTransitionTime,
      't1',
    );
    assert.equal(
      withPodCondition(old, { type: 'Ready', status: 'False', lastTransitionTime: 't2' })[0]?.lastTransitionTime,
      't2',
    );
    const workload = [{ type: 'A', status: 'True', reason: 'r1', lastTransitionTime: 't1' }];
    assert.equal(
      withCondition(workload, { type: 'A', status: 'True', reason: 'r1', lastTransitionTime: 't2' })[0]
        ?.lastTransitionTime,
      't1',
    );
    assert.deepEqual(
      withCondition(workload, { type: 'A', status: 'True', reason: 'r2', lastTransitionTime: 't2' })[0],
      { type: 'A', status: 'True', reason: 'r2', lastTransitionTime: 't1' },
    );
  });
});
