import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Nodes, Pods } from '../../api/gen/resources.ts';
import { compileLabelMap } from '../../api/label-selector.ts';
import { formatTime } from '../../api/time.ts';
import type { DaemonSet } from '../../api/gen/apps-v1.ts';
import type { Node, Pod } from '../../api/gen/core-v1.ts';
import { stored } from '../../api/stored-fixture.ts';
import type { Stored } from '../../api/object.ts';
import { affinityToNode, daemonPodNode } from '../../component-helpers/daemon-pods.ts';
import { controllerOf } from '../../component-helpers/owner-references.ts';
import { isPodAvailable, isPodReady } from '../../component-helpers/pods.ts';
import { REVISION_HASH_LABEL } from '../controller-history.ts';
import { indexPodsByController } from '../pod-events.ts';
import { createManualInformer } from '../manual-informer-fixture.ts';
import { allowsSurge, inOrder, isUpdated, rollingLimits, shouldRun } from './daemon-sets.ts';
import { createDaemonTallies, DaemonTally } from './daemon-tally.ts';
import type { Moment } from './node-view.ts';

const START_MS = 1_700_000_000_000;

interface World extends Moment {
  readonly nodes: readonly Node[];
  readonly pods: readonly Stored<Pod>[];
}

/** All pods by their nodes, as upstream groups them at each sync. */
function grouped({ pods }: World): Map<string, Pod[]> {
  const isOver = ({ metadata, status }: Pod): boolean =>
    metadata.deletionTimestamp !== undefined && ['Failed', 'Succeeded'].includes(status?.phase ?? '');
  const groups = Map.groupBy(inOrder(pods.filter((pod) => !isOver(pod))), (pod) => daemonPodNode(pod) ?? '');
  groups.delete('');
  return groups;
}

function recountStatus(world: World) {
  const { set, nodes, hash, nowMs } = world;
  const groups = grouped(world);
  const wanting = nodes.filter((node) => shouldRun(set, node).run);
  const first = wanting.flatMap((node) => groups.get(node.metadata.name ?? '')?.[0] ?? []);
  const strange = nodes.filter((node) => !wanting.includes(node) && groups.has(node.metadata.name ?? ''));
  return {
    desired: wanting.length,
    current: first.length,
    ready: first.filter(isPodReady).length,
    available: first.filter((pod) => isPodAvailable(pod, set.spec?.minReadySeconds ?? 0, nowMs)).length,
    updated: first.filter((pod) => isUpdated(set, pod, hash)).length,
    misscheduled: strange.length,
  };
}

/** The pods to create and delete, without updates; by name, since a node is identified only by itself. */
function recountPlan(world: World): string[] {
  const { set, nodes, hash, nowMs } = world;
  const groups = grouped(world);
  const steps: string[] = [];
  const say = (what: string, pods: readonly Pod[]): void =>
    void steps.push(...pods.map((pod) => `${what} ${pod.metadata.uid}`));
  for (const node of nodes) {
    const name = node.metadata.name ?? '';
    const { run, stay } = shouldRun(set, node);
    const pods = groups.get(name);
    const alive = pods?.filter((pod) => pod.metadata.deletionTimestamp === undefined) ?? [];
    const running = alive.filter((pod) => !['Failed', 'Succeeded'].includes(pod.status?.phase ?? ''));
    if (run && (pods === undefined || (stay && allowsSurge(set) && running.length === 0))) steps.push(`create ${name}`);
    if (!stay) {
      say('remove', alive);
      continue;
    }
    say(
      'failed',
      alive.filter((pod) => pod.status?.phase === 'Failed'),
    );
    say(
      'succeeded',
      alive.filter((pod) => pod.status?.phase === 'Succeeded'),
    );
    const isNew = (pod: Pod): boolean => pod.metadata.labels?.[REVISION_HASH_LABEL] === hash;
    const newest = running.find(isNew);
    const old = running.find((pod) => !isNew(pod));
    if (!allowsSurge(set)) say('remove', running.slice(1));
    else if (running.length > 1) {
      say(
        'remove',
        running.filter((pod) => pod !== newest && pod !== old),
      );
      const isThere = newest !== undefined && isPodAvailable(newest, set.spec?.minReadySeconds ?? 0, nowMs);
      if (newest !== undefined && old !== undefined && (!isPodReady(old) || isThere)) say('remove', [old]);
    }
  }
  const known = new Set(nodes.map((node) => node.metadata.name));
  for (const [name, pods] of groups)
    if (!known.has(name))
      say(
        'remove',
        pods.filter((pod) => (pod.spec?.nodeName ?? '') === ''),
      );
  return steps.sort();
}

/** A rolling update: immediate replacements, and the number and candidates of replacements that wait for availability. */
function recountRollout(world: World): { now: string[]; among: Set<string>; inTurn: number } {
  const { set, nodes, hash, nowMs } = world;
  const groups = grouped(world);
  const wanting = new Set(nodes.filter((node) => shouldRun(set, node).run).map((node) => node.metadata.name ?? ''));
  const available = (pod: Pod): boolean => isPodAvailable(pod, set.spec?.minReadySeconds ?? 0, nowMs);
  const surges = allowsSurge(set);
  const [now, among]: [string[], Set<string>] = [[], new Set()];
  const spare = new Set<string>();
  let [taken, serving] = [0, 0];
  for (const name of new Set([...groups.keys(), ...wanting])) {
    const alive = (groups.get(name) ?? []).filter((pod) => pod.metadata.deletionTimestamp === undefined);
    const [fresh, stale] = [true, false].map((is) => alive.filter((pod) => isUpdated(set, pod, hash) === is));
    const several = fresh!.length > 1 || stale!.length > 1;
    const [newPod, oldPod] = several ? [] : [fresh![0], stale![0]];
    if (surges) {
      const server = oldPod ?? newPod;
      if (server !== undefined && available(server)) serving++;
      if (several || (newPod !== undefined && oldPod !== undefined && !available(newPod))) taken++;
      else if (oldPod === undefined) continue;
      else if (newPod !== undefined) now.push(`remove ${oldPod.metadata.uid}`);
      else if (wanting.has(name) && available(oldPod)) among.add(`create ${name}`);
      else if (wanting.has(name)) now.push(`create ${name}`);
      else if (!available(oldPod)) now.push(`remove ${oldPod.metadata.uid}`);
      else spare.add(`remove ${oldPod.metadata.uid}`);
      continue;
    }
    const only = newPod === undefined ? oldPod : oldPod === undefined ? newPod : undefined;
    if (only === undefined || !available(only)) taken++;
    if (only === undefined || only === newPod) continue;
    if (available(only)) among.add(`remove ${only.metadata.uid}`);
    else now.push(`remove ${only.metadata.uid}`);
  }
  const limits = rollingLimits(set, wanting.size);
  const room = (surges ? limits.maxSurge : limits.maxUnavailable) - taken;
  const spared = Math.min(spare.size, Math.max(0, serving - wanting.size));
  return {
    now: now.sort(),
    among: among.union(spare),
    inTurn: Math.min(among.size, Math.max(0, room)) + spared,
  };
}

function assertLike(tally: DaemonTally, world: World): void {
  tally.update(world);
  assert.deepEqual(tally.counts(), recountStatus(world));
  const plan = tally.plan();
  const name = (what: string, pods: readonly Pod[]): string[] => pods.map((pod) => `${what} ${pod.metadata.uid}`);
  const ended = (what: string, of: readonly { readonly pod: Pod }[]): string[] =>
    name(
      what,
      of.map(({ pod }) => pod),
    );
  const created = plan.create.map((node) => `create ${node}`);
  const planned = [...created, ...name('remove', plan.remove)];
  planned.push(...ended('failed', plan.failed), ...ended('succeeded', plan.succeeded));
  assert.deepEqual(planned.sort(), recountPlan(world));
  const step = tally.rollingStep();
  const steps = [...step.create.map((node) => `create ${node}`), ...name('remove', step.remove)];
  const { now, among, inTurn } = recountRollout(world);
  assert.deepEqual(steps.filter((text) => !among.has(text)).sort(), now);
  assert.equal(steps.length - now.length, inTurn);
}

const NODES = ['n0', 'n1', 'n2', 'n3'];
const aPod = fc.record({
  name: fc.constantFrom('p0', 'p1', 'p2', 'p3', 'p4', 'p5'),
  life: fc.constantFrom('1', '2'),
  controller: fc.constantFrom('a', 'a', 'a', 'a', 'b', undefined),
  app: fc.constantFrom('web', 'web', 'web', 'other'),
  hash: fc.constantFrom('h1', 'h2', undefined),
  node: fc.constantFrom(...NODES, undefined),
  bound: fc.boolean(),
  phase: fc.constantFrom('Pending', 'Running', 'Running', 'Succeeded', 'Failed'),
  deleted: fc.constantFrom(false, false, true),
  ready: fc.constantFrom(undefined, 'False', 'True', 'True'),
  sinceS: fc.integer({ min: -20, max: 20 }),
});
const aNode = fc.record({
  name: fc.constantFrom(...NODES),
  taint: fc.constantFrom(undefined, undefined, 'NoSchedule', 'NoExecute'),
  zone: fc.constantFrom('x', 'x', 'y'),
});
const someRules = fc.record({
  hash: fc.constantFrom('h1', 'h2'),
  minReadySeconds: fc.constantFrom(0, 0, 5, 15),
  limits: fc.constantFrom({ maxUnavailable: 1 }, { maxUnavailable: '50%' }, { maxSurge: 1, maxUnavailable: 0 }),
  nodeSelector: fc.constantFrom<Record<string, string>>({}, { zone: 'x' }),
});
type Of<A> = A extends fc.Arbitrary<infer T> ? T : never;
type Step =
  | { pod: Of<typeof aPod> }
  | { gone: string }
  | { node: Of<typeof aNode> }
  | { nodeGone: string }
  | { passS: number }
  | { rules: Of<typeof someRules> }
  | { hash: 'h1' | 'h2' }
  | { owner: 'gone' };

function podOf(facts: Of<typeof aPod>, nowMs: number): Stored<Pod> {
  const { name, life, controller, app, hash, node, bound, phase, deleted, ready, sinceS } = facts;
  const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'ds', uid: controller ?? '', controller: true };
  const meant = node === undefined ? {} : { affinity: affinityToNode(undefined, node) };
  const condition = { type: 'Ready', status: ready ?? '', lastTransitionTime: formatTime(nowMs + sinceS * 1000) };
  return stored({
    metadata: {
      name,
      namespace: 'ns',
      uid: `${name}-${life}`,
      labels: { app, ...(hash === undefined ? {} : { [REVISION_HASH_LABEL]: hash }) },
      ...(controller === undefined ? {} : { ownerReferences: [owner] }),
      ...(deleted ? { deletionTimestamp: formatTime(nowMs) } : {}),
    },
    spec: { containers: [], ...meant, ...(bound && node !== undefined ? { nodeName: node } : {}) },
    status: { phase, ...(ready === undefined ? {} : { conditions: [condition] }) },
  });
}

function setOf({ minReadySeconds, limits, nodeSelector }: Of<typeof someRules>, generation: number): Stored<DaemonSet> {
  return stored({
    metadata: { name: 'ds', namespace: 'ns', uid: 'a', generation },
    spec: {
      selector: { matchLabels: { app: 'web' } },
      minReadySeconds,
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: limits },
      template: { metadata: { labels: { app: 'web' } }, spec: { containers: [], nodeSelector } },
    },
  });
}

function nodeOf({ name, taint, zone }: Of<typeof aNode>): Stored<Node> {
  const taints = taint === undefined ? {} : { taints: [{ key: 'k', effect: taint }] };
  return stored({ metadata: { name, labels: { zone } }, spec: taints });
}

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 10, arbitrary: fc.record({ pod: aPod }) },
  { weight: 2, arbitrary: fc.record({ gone: fc.constantFrom('p0', 'p1', 'p2', 'p3', 'p4', 'p5') }) },
  { weight: 3, arbitrary: fc.record({ node: aNode }) },
  { weight: 1, arbitrary: fc.record({ nodeGone: fc.constantFrom(...NODES) }) },
  { weight: 4, arbitrary: fc.record({ passS: fc.integer({ min: -20, max: 20 }) }) },
  { weight: 2, arbitrary: fc.record({ rules: someRules }) },
  { weight: 2, arbitrary: fc.record({ hash: fc.constantFrom('h1', 'h2') }) },
  { weight: 1, arbitrary: fc.constant({ owner: 'gone' } as const) },
);

test('for all changes of pods, nodes, the set and the clock, a tally equals a recount', () => {
  const selector = compileLabelMap({ app: 'web' });
  fc.assert(
    fc.property(someRules, fc.array(step, { maxLength: 40 }), fc.array(fc.boolean()), (first, steps, looks) => {
      const [pods, nodes] = [createManualInformer(Pods), createManualInformer(Nodes)];
      indexPodsByController(pods.informer);
      const tallies = createDaemonTallies(pods.informer, nodes.informer);
      for (const name of NODES.slice(1)) nodes.put(nodeOf({ name, taint: undefined, zone: 'x' }));
      let [rules, generation, nowMs] = [first, 1, START_MS];
      for (const [index, next] of steps.entries()) {
        if ('pod' in next) pods.put(podOf(next.pod, nowMs));
        else if ('gone' in next) pods.remove(`ns/${next.gone}`);
        else if ('node' in next) nodes.put(nodeOf(next.node));
        else if ('nodeGone' in next) nodes.remove(next.nodeGone);
        else if ('passS' in next) nowMs += next.passS * 1000;
        else if ('rules' in next) [rules, generation] = [next.rules, generation + 1];
        else if ('hash' in next) rules = { ...rules, hash: next.hash };
        else tallies.forget(setOf(rules, generation));
        if (looks[index] === false) continue;
        const set = setOf(rules, generation);
        const owned = pods.list().filter((pod) => controllerOf(pod)?.uid === 'a');
        const [mine, strange] = [true, false].map((is) =>
          owned.filter((pod) => selector.matches(pod.metadata.labels) === is),
        );
        const tally = tallies.of(set, selector);
        assertLike(tally, { set, hash: rules.hash, nowMs, nodes: nodes.list(), pods: mine! });
        assert.deepEqual(new Set(tally.pods()), new Set(mine));
        assert.deepEqual(new Set(tally.toRelease()), new Set(strange));
      }
    }),
    { numRuns: 400, seed: 36 },
  );
});

test('a recount that throws leaves the numbers correct', () => {
  const [selector, nodes] = [compileLabelMap({ app: 'web' }), createManualInformer(Nodes)];
  nodes.put(nodeOf({ name: 'n0', taint: undefined, zone: 'x' }));
  const facts = { life: '1', app: 'web', node: 'n0', bound: true, phase: 'Running', ready: 'True' } as const;
  const pod = podOf({ ...facts, name: 'p0', controller: 'a', hash: 'h1', deleted: false, sinceS: 0 }, START_MS);
  const rules = { hash: 'h1', minReadySeconds: 0, limits: { maxUnavailable: 1 }, nodeSelector: {} } as const;
  const world = { set: setOf(rules, 1), hash: 'h1', nowMs: START_MS, nodes: nodes.list(), pods: [pod] };
  const tally = new DaemonTally(selector, nodes.informer, [pod]);
  assertLike(tally, world);
  tally.put({ ...pod, status: { conditions: 1 as never } });
  assert.throws(() => tally.update(world), TypeError);
  assert.deepEqual(tally.counts(), recountStatus(world));
  assert.throws(() => tally.update(world), TypeError);
  tally.put(pod);
  assertLike(tally, world);
});

test('nodes are compared with a template of thousands of terms in steps', () => {
  const [selector, nodes] = [compileLabelMap({ app: 'web' }), createManualInformer(Nodes)];
  for (let at = 0; at < 50; at++) nodes.put(nodeOf({ name: `n${at}`, taint: undefined, zone: 'x' }));
  const rules = { hash: 'h1', minReadySeconds: 0, limits: { maxUnavailable: 1 }, nodeSelector: {} } as const;
  const small = setOf(rules, 1);
  const nodeSelectorTerms = Array.from({ length: 3000 }, (_, at) => ({
    matchExpressions: [{ key: at === 2999 ? 'kubernetes.io/hostname' : `k${at}`, operator: 'Exists' }],
  }));
  const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } };
  const podSpec = { ...small.spec!.template.spec!, affinity };
  const set = { ...small, spec: { ...small.spec!, template: { ...small.spec!.template, spec: podSpec } } };
  const tally = new DaemonTally(selector, nodes.informer, []);
  let steps = 1;
  for (const work = tally.updateSteps({ set, hash: 'h1', nowMs: START_MS }); work.next().done !== true;) steps++;
  assert.ok(steps > 10, `${steps} steps`);
});
