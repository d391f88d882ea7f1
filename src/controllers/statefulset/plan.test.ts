/** The plan against one that lists every ordinal, on random small sets; and its size for sets of any number of replicas. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { StatefulSet } from '../../api/gen/apps-v1.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { isPodTerminal } from '../../component-helpers/pods.ts';
import { createSeededRandom } from '../../platform/sim/random.ts';
import { allowsBurst, inRange, isHealthy, ordinalOf, ordinalRange, revisionOf } from './identity.ts';
import { planStatefulSet, type StatefulPlan, type StatefulView } from './plan.ts';

const MOST = 2147483647;
const OLD = 'db-old';
const NEW = 'db-new';

type Spec = Partial<NonNullable<StatefulSet['spec']>>;
interface State {
  readonly ordinal: number;
  readonly phase?: string;
  readonly ready?: boolean;
  readonly deleted?: boolean;
  readonly revision?: string;
}

function podOf({ ordinal, phase = 'Running', ready = true, deleted = false, revision = NEW }: State): Stored<Pod> {
  return {
    metadata: {
      name: `db-${ordinal}`,
      labels: { 'controller-revision-hash': revision },
      ...(deleted ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
    },
    status: { phase, conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
  } as unknown as Stored<Pod>;
}

function viewOf(spec: Spec, pods: readonly Stored<Pod>[], currentReplicas = 0): StatefulView {
  const set = { metadata: { name: 'db' }, spec, status: { currentReplicas } } as unknown as Stored<StatefulSet>;
  return { set, pods, currentRevision: OLD, updateRevision: NEW, nowMs: 0 };
}

type Replicas = readonly (Stored<Pod> | undefined)[];

/** Upstream's algorithm on a list of all replicas. */
function plainPlan(view: StatefulView): StatefulPlan {
  const { set, pods } = view;
  const { start, count } = ordinalRange(set);
  const byOrdinal = new Map(pods.map((pod) => [ordinalOf(pod), pod]));
  const replicas = Array.from({ length: count }, (_, index) => byOrdinal.get(start + index));
  const condemned = pods.filter((pod) => !inRange(set, ordinalOf(pod))).sort((a, b) => ordinalOf(b) - ordinalOf(a));
  const draft = {
    create: [] as StatefulPlan['create'][number][],
    recreate: [] as Stored<Pod>[],
    keep: [] as Stored<Pod>[],
  };
  for (const [index, pod] of replicas.entries()) {
    if (pod === undefined) draft.create.push({ ordinal: start + index, revision: plainRevision(view, index) });
    else if (!isPodTerminal(pod)) draft.keep.push(pod);
    else if (pod.metadata.deletionTimestamp === undefined) draft.recreate.push(pod);
    const waits = pod === undefined || isPodTerminal(pod) || !isHealthy(set, pod, view.nowMs);
    if (waits && !allowsBurst(set)) return { ...draft, condemned: [], remove: [] };
  }
  return { ...draft, condemned, remove: plainRemovals(view, replicas, condemned) };
}

function plainRevision({ set }: StatefulView, index: number): string {
  const { type, rollingUpdate } = set.spec?.updateStrategy ?? {};
  if (type !== 'RollingUpdate') return NEW;
  return index < (rollingUpdate === undefined ? set.status!.currentReplicas! : (rollingUpdate.partition ?? 0))
    ? OLD
    : NEW;
}

function plainRemovals(view: StatefulView, replicas: Replicas, condemned: readonly Stored<Pod>[]): Stored<Pod>[] {
  const { set, nowMs } = view;
  const alive = condemned.filter((pod) => pod.metadata.deletionTimestamp === undefined);
  const [first, ...below] = condemned;
  const healthy = (pod: Stored<Pod> | undefined): boolean => isHealthy(set, pod, nowMs);
  if (allowsBurst(set)) return [...alive, ...plainUpdate(view, replicas)];
  if (first === undefined) return plainUpdate(view, replicas);
  if (first.metadata.deletionTimestamp !== undefined) return [];
  return healthy(first) || below.every(healthy) ? [first] : [];
}

function plainUpdate({ set, nowMs }: StatefulView, replicas: Replicas): Stored<Pod>[] {
  const { type, rollingUpdate } = set.spec?.updateStrategy ?? {};
  if (type === 'OnDelete') return [];
  for (let index = replicas.length - 1; index >= (rollingUpdate?.partition ?? 0); index--) {
    const pod = replicas[index];
    if (pod === undefined || isPodTerminal(pod)) return [];
    if (revisionOf(pod) !== NEW && pod.metadata.deletionTimestamp === undefined) return [pod];
    if (!isHealthy(set, pod, nowMs)) return [];
  }
  return [];
}

describe('the plan of a StatefulSet', () => {
  it('is that of the list of all ordinals', () => {
    const random = createSeededRandom(7);
    const below = (limit: number): number => random.int(limit);
    const chance = (percent: number): boolean => below(100) < percent;
    const pick = <T>(...of: readonly T[]): T => of[below(of.length)]!;
    const seen = { create: 0, recreate: 0, remove: 0, condemned: 0 };
    for (let round = 0; round < 4000; round++) {
      const start = pick(0, 0, 3);
      const sound = pick(60, 95, 100);
      const pods = Array.from({ length: below(9) }, (_, at) => start + at - pick(0, 0, 1))
        .filter((ordinal) => ordinal >= 0 && chance(sound))
        .map((ordinal) =>
          podOf({
            ordinal,
            phase: chance(sound) ? 'Running' : pick('Pending', 'Failed', 'Succeeded'),
            ready: chance(sound),
            deleted: !chance(sound),
            revision: pick(OLD, NEW),
          }),
        );
      const rollingUpdate = pick(
        undefined,
        {},
        { partition: below(4) },
        { maxUnavailable: pick<number | string>(2, '50%') },
      );
      const spec: Spec = {
        replicas: below(8),
        ordinals: { start },
        podManagementPolicy: pick('Parallel', 'OrderedReady'),
        updateStrategy: chance(20)
          ? { type: 'OnDelete' }
          : { type: 'RollingUpdate', ...(rollingUpdate && { rollingUpdate }) },
      };
      const view = viewOf(spec, pods, below(5));
      const plan = planStatefulSet(view);
      assert.deepEqual(plan, plainPlan(view), JSON.stringify({ spec, pods }));
      for (const name of ['create', 'recreate', 'remove', 'condemned'] as const) seen[name] += plan[name].length;
    }
    for (const [name, count] of Object.entries(seen)) assert.ok(count > 100, `${name} was hardly tried: ${count}`);
  });

  it('creates the next pod of an ordered set of 2147483647 replicas', () => {
    const pods = [0, 1, 2].map((ordinal) => podOf({ ordinal }));
    const { create, keep, remove } = planStatefulSet(viewOf({ replicas: MOST }, pods));
    assert.deepEqual([create, keep.length, remove], [[{ ordinal: 3, revision: NEW }], 3, []]);
  });

  it('creates at most 500 pods of a parallel set in one sync, the lowest ordinals first', () => {
    const spec: Spec = { replicas: MOST, podManagementPolicy: 'Parallel', ordinals: { start: MOST } };
    const { create, keep } = planStatefulSet(viewOf(spec, [podOf({ ordinal: MOST })]));
    assert.deepEqual([create.length, create[0]?.ordinal, create.at(-1)?.ordinal], [500, MOST + 1, MOST + 500]);
    assert.equal(keep.length, 1);
  });

  it('updates one pod at a time with any maxUnavailable, and none while a pod above is missing', () => {
    const pods = [0, 1].map((ordinal) => podOf({ ordinal, revision: OLD }));
    const plan = (partition: number, replicas: number): readonly Stored<Pod>[] =>
      planStatefulSet(
        viewOf(
          {
            replicas,
            podManagementPolicy: 'Parallel',
            updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition, maxUnavailable: '100%' } },
          },
          pods,
        ),
      ).remove;
    assert.deepEqual(plan(MOST, MOST), []);
    assert.deepEqual(plan(0, MOST), []);
    assert.deepEqual(plan(2, 2), []);
    assert.deepEqual(plan(0, 2), [pods[1]]);
  });
});
