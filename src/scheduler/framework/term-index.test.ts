/**
 * Compares the index of terms with an evaluation of every term of every pod, and counts the terms that a pod with unique labels
 * evaluates.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { LabelSelector } from '../../api/gen/meta-v1.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { compileLabelSelector, type LabelMatcher } from '../../api/label-selector.ts';
import { stored } from '../../api/stored-fixture.ts';
import { createNodeClock } from '../../platform/node/clock.ts';
import { createSeededRandom } from '../../platform/sim/random.ts';
import { createSchedulerCache } from '../cache/scheduler-cache.ts';
import { testNode, testPod } from '../scheduler-fixture.ts';
import { TermIndex } from './term-index.ts';

interface Term {
  readonly topologyKey: string;
  readonly labelSelector: LabelSelector;
}

function podWith(name: string, terms: readonly Term[]): Stored<Pod> {
  const podAntiAffinity = { requiredDuringSchedulingIgnoredDuringExecution: [...terms] };
  return testPod(name, { spec: { affinity: { podAntiAffinity } } });
}

const termsOf = (pod: Pod): readonly Term[] =>
  (pod.spec?.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []) as readonly Term[];

function createIndex() {
  const read = { terms: 0 };
  const index = new TermIndex<LabelMatcher>({
    podsOn: (node) => node.podsWithRequiredAntiAffinity,
    *termsOf(pod) {
      for (const { topologyKey, labelSelector } of termsOf(pod)) {
        read.terms++;
        const selector = compileLabelSelector(labelSelector);
        yield { id: `${topologyKey}|${selector.toString()}`, topologyKey, selector, term: selector };
      }
    },
  });
  return { index, read };
}

describe('the index of terms', () => {
  it('finds the same terms as an evaluation of all, after all additions, removals and changes', () => {
    const random = createSeededRandom(5);
    const pick = <T>(...of: readonly T[]): T => of[random.int(of.length)] as T;
    const value = (): string => pick('1', '2', '3');
    const expression = () =>
      pick(
        { key: pick('a', 'b'), operator: 'In', values: [value(), value()] },
        { key: pick('a', 'b'), operator: 'NotIn', values: [value()] },
        { key: pick('a', 'b'), operator: pick('Exists', 'DoesNotExist') },
      );
    const selector = (): LabelSelector => ({
      ...(random.int(2) === 0 ? { matchLabels: { [pick('a', 'b')]: value() } } : {}),
      matchExpressions: Array.from({ length: random.int(3) }, expression),
    });
    const node = (name: string) =>
      testNode(name, { labels: { zone: value(), ...(random.int(2) === 0 ? { rack: value() } : {}) } });
    const cache = createSchedulerCache();
    const { index } = createIndex();
    const names = ['x', 'y', 'z'];
    let found = 0;
    for (let round = 0; round < 1500; round++) {
      const pod = podWith(
        `p${random.int(6)}`,
        Array.from({ length: random.int(4) }, () => ({ topologyKey: pick('zone', 'rack'), labelSelector: selector() })),
      );
      const what = random.int(5);
      if (what === 0) cache.removePod(pod);
      else if (what === 1) cache.updateNode(node(pick(...names)));
      else if (what === 2 && random.int(4) === 0) cache.removeNode(pick(...names));
      else cache.addPod(stored({ ...pod, spec: { ...pod.spec!, nodeName: pick(...names) } }));
      const labels = { ...(random.int(3) > 0 ? { a: value() } : {}), ...(random.int(3) > 0 ? { b: value() } : {}) };
      const snapshot = cache.snapshot();
      const counts = new Map<string, number>();
      for (const { topologyKey, term, values } of index.candidates(snapshot, labels))
        for (const [at, count] of term.matches(labels) ? values : [])
          counts.set(`${topologyKey}=${at} ${term.toString()}`, count);
      const plain = new Map<string, number>();
      for (const info of snapshot.nodes)
        for (const { topologyKey, labelSelector } of [...info.pods.values()].flatMap(termsOf)) {
          const at = info.node.metadata.labels?.[topologyKey];
          const term = compileLabelSelector(labelSelector);
          const key = `${topologyKey}=${at} ${term.toString()}`;
          if (at !== undefined && term.matches(labels)) plain.set(key, (plain.get(key) ?? 0) + 1);
        }
      assert.deepEqual(new Map([...counts].sort()), new Map([...plain].sort()), `round ${round}`);
      found += plain.size;
    }
    assert.ok(found > 500, `${found}`);
  });

  it('reads the terms of a pod once, and shows others only those that may match them', () => {
    const cache = createSchedulerCache();
    cache.addNode(testNode('n', { labels: { zone: 'z' } }));
    const many = Array.from({ length: 12_000 }, (_, at) => ({
      topologyKey: 'zone',
      labelSelector: { matchLabels: { app: `none-${at}` } },
    }));
    for (let i = 0; i < 5; i++) cache.assume(podWith(`p${i}`, many), 'n');
    const { index, read } = createIndex();
    const candidates = (app: string): number => [...index.candidates(cache.snapshot(), { app })].length;
    assert.deepEqual([candidates('web'), read.terms], [0, 60_000]);
    for (let i = 0; i < 50; i++) {
      cache.assume(podWith(`q${i}`, []), 'n');
      assert.deepEqual([candidates('web'), candidates('none-7'), read.terms], [0, 1, 60_000]);
    }
  });

  it('keeps no older version of a pod', async () => {
    const cache = createSchedulerCache();
    cache.addNode(testNode('n', { labels: { zone: '1' } }));
    const { index, read } = createIndex();
    const versions: WeakRef<object>[] = [];
    for (let version = 0; version < 3; version++) {
      const pod = podWith('p', [{ topologyKey: 'zone', labelSelector: {} }]);
      const placed = stored({ ...pod, spec: { ...pod.spec!, nodeName: 'n' }, status: { phase: `${version}` } });
      cache.addPod(placed);
      versions.push(new WeakRef(placed));
      assert.equal([...index.candidates(cache.snapshot(), {})].length, 1);
    }
    assert.equal(read.terms, 1);
    // A WeakRef holds its target until the turn ends.
    await createNodeClock().yield();
    setFlagsFromString('--expose-gc');
    (runInNewContext('gc') as () => void)();
    assert.deepEqual(
      versions.map((one) => one.deref() !== undefined),
      [false, false, true],
    );
  });
});
