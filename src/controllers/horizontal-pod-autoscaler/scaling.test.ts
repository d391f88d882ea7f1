import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { HorizontalPodAutoscalerSpec } from '../../api/gen/autoscaling-v2.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { stored } from '../../api/stored-fixture.ts';
import { formatTime } from '../../api/time.ts';
import type { PodMetrics } from './metrics-client.ts';
import {
  averageValueReplicas,
  perReplicaValueReplicas,
  utilizationReplicas,
  valueReplicas,
} from './replica-calculator.ts';
import { normalizeDesiredReplicas, normalizeDesiredReplicasWithBehaviors, emptyHistory } from './scaling-rules.ts';

const NOW_MS = 3_600_000;
const HOUR_AGO = 0;

/** A pod of a test: its use in thousandths, or why it has none. */
type PodCase = number | 'missing' | 'pending' | 'failed' | 'unready' | 'fresh';

function podOf(what: PodCase, index: number): Stored<Pod> {
  const startedMs = what === 'fresh' ? NOW_MS - 20_000 : HOUR_AGO;
  const changedMs = what === 'unready' ? HOUR_AGO + 10_000 : startedMs + 5000;
  return stored<Pod>({
    metadata: { name: `p${index}` },
    spec: { containers: [{ name: 'c', resources: { requests: { cpu: '1', memory: '1k' } } }] },
    status: {
      phase: what === 'pending' ? 'Pending' : what === 'failed' ? 'Failed' : 'Running',
      startTime: formatTime(startedMs),
      conditions: [
        { type: 'Ready', status: what === 'unready' ? 'False' : 'True', lastTransitionTime: formatTime(changedMs) },
      ],
    },
  });
}

function metricsOf(cases: readonly PodCase[], unreadyUse = 900): PodMetrics {
  return new Map(
    cases.flatMap((what, index) => {
      if (what === 'missing' || what === 'pending') return [];
      const milliValue = typeof what === 'number' ? what : unreadyUse;
      return [[`p${index}`, { milliValue, timestampMs: NOW_MS - 10_000, windowMs: 60_000 }] as const];
    }),
  );
}

const stateOf = (cases: readonly PodCase[]) => ({
  currentReplicas: cases.length,
  pods: cases.map(podOf),
  nowMs: NOW_MS,
  tolerances: { scaleUp: 0.1, scaleDown: 0.1 },
  delays: { cpuInitializationMs: 300_000, initialReadinessMs: 30_000 },
});

describe('replicas for a CPU utilization of 50 %', () => {
  const rows: [what: string, pods: PodCase[], replicas: number, utilization: number][] = [
    ['twice the target doubles', [1000, 1000], 4, 100],
    ['half of it halves', [250, 250, 250, 250], 2, 25],
    ['within ten per cent nothing happens', [540, 540], 2, 54],
    ['just above ten per cent it grows', [560, 560], 3, 56],
    ['a part of a pod is a pod', [300, 300, 300], 2, 30],
    ['a missing pod counts as idle when growing', [1000, 1000, 'missing'], 4, 100],
    ['a missing pod counts as busy when shrinking', [100, 100, 'missing'], 3, 10],
    ['a pending pod counts as idle when growing', [1000, 'pending'], 2, 100],
    ['a starting pod is not believed', [1000, 'fresh'], 2, 100],
    ['a pod that was never ready is not believed', [600, 'unready'], 2, 60],
    ['what failed does not count', [1000, 'failed'], 2, 100],
  ];
  for (const [what, cases, replicas, utilization] of rows) {
    it(what, () => {
      const proposal = utilizationReplicas(stateOf(cases), metricsOf(cases), { resource: 'cpu', utilization: 50 });
      assert.equal(proposal.replicas, replicas);
      assert.equal(proposal.utilization, utilization);
    });
  }

  it('memory of an unready pod is believed', () => {
    const cases: PodCase[] = [1000, 'unready'];
    const target = { resource: 'memory', milliValue: 500 };
    assert.equal(averageValueReplicas(stateOf(cases), metricsOf(cases, 1000), target).replicas, 4);
  });

  const refused: [what: string, pods: PodCase[], message: RegExp][] = [
    ['no pods', [], /^no pods returned by selector while calculating replica count$/],
    [
      'none with a metric',
      ['pending', 'pending'],
      /^did not receive metrics for targeted pods \(pods might be unready\)$/,
    ],
  ];
  for (const [what, cases, message] of refused) {
    it(`refuses ${what}`, () => {
      const calculate = () =>
        utilizationReplicas(stateOf(cases), metricsOf(cases), { resource: 'cpu', utilization: 50 });
      assert.throws(calculate, { message });
    });
  }

  it('refuses a container without a request', () => {
    const state = stateOf([500]);
    const pods: Stored<Pod>[] = [{ ...state.pods[0]!, spec: { containers: [{ name: 'c' }] } }];
    assert.throws(
      () => utilizationReplicas({ ...state, pods }, metricsOf([500]), { resource: 'cpu', utilization: 50 }),
      {
        message: 'missing request for cpu in container c of Pod p0',
      },
    );
  });
});

describe('replicas for one value of the whole target', () => {
  const rows: [what: string, pods: PodCase[], value: number, target: number, replicas: number][] = [
    ['double', [1, 1], 200, 100, 4],
    ['within tolerance', [1, 1], 105, 100, 2],
    ['unready pods share nothing', [1, 'unready'], 200, 100, 2],
    ['from zero', [], 250, 100, 3],
  ];
  for (const [what, cases, value, target, replicas] of rows)
    it(what, () => assert.equal(valueReplicas(stateOf(cases), value, target), replicas));

  it('not without a pod', () =>
    assert.throws(() => valueReplicas({ ...stateOf([]), currentReplicas: 2 }, 200, 100), {
      message: 'no pods returned by selector while calculating replica count',
    }));

  it('per replica', () => {
    const { tolerances } = stateOf([]);
    assert.deepEqual(perReplicaValueReplicas({ tolerances, statusReplicas: 2 }, 500, 100), {
      replicas: 5,
      averageMilliValue: 250,
    });
    assert.equal(perReplicaValueReplicas({ tolerances, statusReplicas: 0 }, 250, 100).replicas, 3);
  });
});

const spec = (parts: Partial<HorizontalPodAutoscalerSpec>): HorizontalPodAutoscalerSpec => ({
  scaleTargetRef: { kind: 'Deployment', name: 'd' },
  minReplicas: 1,
  maxReplicas: 100,
  ...parts,
});

describe('without a behaviour', () => {
  const decide = (current: number, desired: number, history = emptyHistory()) =>
    normalizeDesiredReplicas(
      spec({ maxReplicas: 20 }),
      { current, desired, nowMs: NOW_MS },
      { history, stabilizationMs: 300_000 },
    );
  const rows: [current: number, desired: number, replicas: number, reason: string][] = [
    [1, 3, 3, 'DesiredWithinRange'],
    [1, 9, 4, 'ScaleUpLimit'],
    [5, 11, 10, 'ScaleUpLimit'],
    [15, 30, 20, 'TooManyReplicas'],
    [3, 0, 1, 'TooFewReplicas'],
  ];
  for (const [current, desired, replicas, reason] of rows) {
    it(`${current} to ${desired}: ${replicas}, ${reason}`, () => {
      const decision = decide(current, desired);
      assert.deepEqual([decision.replicas, decision.limited.reason], [replicas, reason]);
    });
  }

  it('shrinks to the highest recommendation of the last five minutes', () => {
    const history = emptyHistory();
    history.recommendations = [
      { replicas: 9, atMs: NOW_MS - 301_000 },
      { replicas: 7, atMs: NOW_MS - 200_000 },
    ];
    const decision = decide(10, 2, history);
    assert.deepEqual([decision.replicas, decision.stabilized?.reason], [7, 'ScaleDownStabilized']);
    assert.deepEqual(
      history.recommendations.map((r) => r.replicas),
      [7, 2],
    );
  });
});

describe('with a behaviour', () => {
  const up = (rules: object) => spec({ behavior: { scaleUp: rules, scaleDown: { stabilizationWindowSeconds: 0 } } });
  const down = (rules: object) => spec({ behavior: { scaleDown: { stabilizationWindowSeconds: 0, ...rules } } });
  const percent = { type: 'Percent', value: 50, periodSeconds: 60 };
  const pods = { type: 'Pods', value: 2, periodSeconds: 60 };
  const rows: [what: string, spec: HorizontalPodAutoscalerSpec, current: number, desired: number, replicas: number][] =
    [
      ['the widest policy counts', up({ selectPolicy: 'Max', policies: [percent, pods] }), 10, 30, 15],
      ['the narrowest where asked', up({ selectPolicy: 'Min', policies: [percent, pods] }), 10, 30, 12],
      ['growing is off', up({ selectPolicy: 'Disabled' }), 10, 30, 10],
      ['shrinking by the widest', down({ selectPolicy: 'Max', policies: [percent, pods] }), 10, 1, 5],
      ['shrinking by the narrowest', down({ selectPolicy: 'Min', policies: [percent, pods] }), 10, 1, 8],
      ['shrinking is off', down({ selectPolicy: 'Disabled' }), 10, 1, 10],
    ];
  for (const [what, given, current, desired, replicas] of rows) {
    it(what, () =>
      assert.equal(
        normalizeDesiredReplicasWithBehaviors(given, { current, desired, nowMs: NOW_MS }, emptyHistory()).replicas,
        replicas,
      ),
    );
  }

  it('pods added within the period count for the limit', () => {
    const history = emptyHistory();
    history.ups.push({ change: 2, atMs: NOW_MS - 30_000 });
    const given = up({ selectPolicy: 'Max', policies: [pods] });
    const decision = normalizeDesiredReplicasWithBehaviors(given, { current: 12, desired: 30, nowMs: NOW_MS }, history);
    assert.deepEqual([decision.replicas, decision.limited.reason], [12, 'ScaleUpLimit']);
    const later = normalizeDesiredReplicasWithBehaviors(
      given,
      { current: 12, desired: 30, nowMs: NOW_MS + 31_000 },
      history,
    );
    assert.equal(later.replicas, 14);
  });

  it('each change is read once, whatever the number of policies', () => {
    let reads = 0;
    const history = emptyHistory();
    for (let at = 0; at < 500; at++)
      history.ups.push({
        change: 1,
        get atMs() {
          return (reads++, NOW_MS - 500_000 + at * 1000);
        },
      });
    const policies = Array.from({ length: 1000 }, (_, at) => ({ type: 'Pods', value: at, periodSeconds: 1 + at }));
    const given = { ...up({ selectPolicy: 'Min', policies }), maxReplicas: 5000 };
    const { replicas } = normalizeDesiredReplicasWithBehaviors(
      given,
      { current: 900, desired: 2000, nowMs: NOW_MS },
      history,
    );
    assert.equal(replicas, 900);
    assert.ok(reads < 50_000, `${reads} reads of 500 changes`);
  });

  it('grows to the lowest recommendation of its window', () => {
    const history = emptyHistory();
    history.recommendations.push({ replicas: 12, atMs: NOW_MS - 10_000 });
    const given = up({ stabilizationWindowSeconds: 60, selectPolicy: 'Max', policies: [{ ...percent, value: 900 }] });
    const decision = normalizeDesiredReplicasWithBehaviors(given, { current: 10, desired: 30, nowMs: NOW_MS }, history);
    assert.deepEqual([decision.replicas, decision.stabilized?.reason], [12, 'ScaleUpStabilized']);
  });
});
