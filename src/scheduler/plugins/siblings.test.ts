/** The siblings of a pod, and their use by ServiceAffinity. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Pod, Service } from '../../api/gen/core-v1.ts';
import type { KubernetesObject, Stored } from '../../api/object.ts';
import type { Informer } from '../../client/informer.ts';
import { createSchedulerCache } from '../cache/scheduler-cache.ts';
import {
  createServiceSiblings,
  createSiblingSelector,
  selectingServices,
  type SiblingDeps,
} from '../framework/sibling-selector.ts';
import { testNode, testPod } from '../scheduler-fixture.ts';
import { createServiceAffinity, type ServiceAffinityArgs } from './service-affinity/service-affinity.ts';

const stored = <T extends KubernetesObject>(...objects: object[]): Informer<T> =>
  ({
    list: (namespace: string) =>
      objects.filter((each) => (each as Pod).metadata.namespace === namespace) as unknown as never[],
    get: ({ name }: { name: string }) => objects.find((each) => (each as Pod).metadata.name === name),
  }) as never;

const named = (name: string) => ({ name, namespace: 'default' });
const service = (name: string, selector: Record<string, string>, namespace = 'default'): Service => ({
  metadata: { name, namespace },
  spec: { selector },
});
const services = stored(
  service('web', { app: 'web' }),
  service('all', {}),
  service('fast', { app: 'web', tier: 'fast' }),
  service('far', { app: 'web' }, 'other'),
);
const bySet = { selector: { matchLabels: { set: 's' } } };
const deps: SiblingDeps = {
  services,
  replicationControllers: stored({ metadata: named('rc'), spec: { selector: { rc: 'r' } } }),
  replicaSets: stored({ metadata: named('rs'), spec: bySet }),
  statefulSets: stored({ metadata: named('ss'), spec: bySet }),
};

const labelled = (labels: Record<string, string>, owner?: [kind: string, name: string]): Stored<Pod> => {
  const pod = testPod('p');
  const ownerReferences =
    owner === undefined ? [] : [{ apiVersion: 'v1', kind: owner[0], name: owner[1], uid: 'u', controller: true }];
  return { ...pod, metadata: { ...pod.metadata, labels, ownerReferences } };
};

describe('siblings', () => {
  const cases: [
    what: string,
    pod: Stored<Pod>,
    siblings: Record<string, string>[],
    others: Record<string, string>[],
  ][] = [
    ['of a service', labelled({ app: 'web' }), [{ app: 'web', x: 'y' }], [{ app: 'db' }]],
    [
      'of two services: of both',
      labelled({ app: 'web', tier: 'fast' }),
      [{ app: 'web', tier: 'fast' }],
      [{ app: 'web' }],
    ],
    [
      'of a replication controller',
      labelled({ rc: 'r' }, ['ReplicationController', 'rc']),
      [{ rc: 'r' }],
      [{ set: 's' }],
    ],
    ['of a replica set', labelled({ set: 's' }, ['ReplicaSet', 'rs']), [{ set: 's' }], [{ rc: 'r' }]],
    ['of a stateful set', labelled({ set: 's' }, ['StatefulSet', 'ss']), [{ set: 's' }], [{ rc: 'r' }]],
    [
      'of a set and a service: of both',
      labelled({ app: 'web', set: 's' }, ['ReplicaSet', 'rs']),
      [{ app: 'web', set: 's' }],
      [{ app: 'web' }, { set: 's' }],
    ],
  ];
  for (const [what, pod, siblings, others] of cases)
    test(what, () => {
      const selector = createSiblingSelector(deps)(pod);
      assert.deepEqual(
        siblings.map((labels) => selector?.matches(labels)),
        siblings.map(() => true),
      );
      assert.deepEqual(
        others.map((labels) => selector?.matches(labels)),
        others.map(() => false),
      );
    });

  const alone: [what: string, pod: Stored<Pod>][] = [
    ['without labels', labelled({})],
    ['that no service selects', labelled({ app: 'db' })],
    ['whose owner is gone', labelled({ set: 's' }, ['ReplicaSet', 'gone'])],
    ['of a job', labelled({ job: 'j' }, ['Job', 'j'])],
  ];
  for (const [what, pod] of alone)
    test(`a pod ${what} has none`, () => assert.equal(createSiblingSelector(deps)(pod), undefined));

  test('by service alone: the first counts', () => {
    const siblings = createServiceSiblings(services);
    const pod = labelled({ app: 'web', tier: 'fast', set: 's' }, ['ReplicaSet', 'rs']);
    assert.deepEqual(
      selectingServices(services, pod).map(({ metadata }) => metadata.name),
      ['web', 'fast'],
    );
    assert.equal(siblings(pod)?.matches({ app: 'web' }), true);
    assert.equal(siblings(labelled({ app: 'db' })), undefined);
  });
});

describe('ServiceAffinity', () => {
  const nodes = [
    testNode('a', { labels: { zone: 'x', rack: '1' } }),
    testNode('b', { labels: { zone: 'x', rack: '2' } }),
    testNode('c', { labels: { zone: 'y', rack: '1' } }),
    testNode('bare'),
  ];
  const web = (name: string, spec = {}): Stored<Pod> => {
    const pod = testPod(name, { spec });
    return { ...pod, metadata: { ...pod.metadata, labels: { app: 'web' } } };
  };
  function ask(args: Partial<ServiceAffinityArgs>, pod: Stored<Pod>, running: Record<string, string[]>) {
    const plugin = createServiceAffinity({ affinityLabels: [], antiAffinityLabelsPreference: [], ...args }, (of) =>
      selectingServices(services, of),
    );
    const cache = createSchedulerCache();
    for (const node of nodes) cache.addNode(node);
    for (const [node, names] of Object.entries(running)) for (const name of names) cache.assume(web(name), node);
    const snapshot = cache.snapshot();
    const state = new Map<string, unknown>();
    const skips = plugin.preFilter?.(state, pod, snapshot);
    const fit = snapshot.nodes.filter((node) => skips !== undefined || plugin.filter?.(state, pod, node) === undefined);
    const skipsScore = plugin.preScore?.(state, pod, { nodes: snapshot.nodes, snapshot });
    const score = (node: (typeof fit)[number]): number => plugin.score?.(state, pod, node) ?? Number.NaN;
    return {
      fit: fit.map(({ name }) => name).toSorted(),
      scores: skipsScore === undefined ? Object.fromEntries(snapshot.nodes.map((n) => [n.name, score(n)])) : undefined,
    };
  }

  const filters: [
    what: string,
    labels: string[],
    pod: Stored<Pod>,
    running: Record<string, string[]>,
    fit: string[],
  ][] = [
    ['without labels asked for: anywhere', [], web('p'), { a: ['q'] }, ['a', 'b', 'bare', 'c']],
    ['the first pod of a service: anywhere', ['zone'], web('p'), {}, ['a', 'b', 'bare', 'c']],
    ['where the others are', ['zone'], web('p'), { a: ['q'] }, ['a', 'b']],
    ['by all labels', ['zone', 'rack'], web('p'), { a: ['q'] }, ['a']],
    ['by its own selector first', ['zone'], web('p', { nodeSelector: { zone: 'y' } }), { a: ['q'] }, ['c']],
    [
      'by its own selector, and the others for the rest',
      ['zone', 'rack'],
      web('p', { nodeSelector: { zone: 'y' } }),
      { a: ['q'] },
      ['c'],
    ],
    ['a pod of no service: anywhere', ['zone'], testPod('p'), { a: ['q'] }, ['a', 'b', 'bare', 'c']],
  ];
  for (const [what, affinityLabels, pod, running, fit] of filters)
    test(`affinity: ${what}`, () => assert.deepEqual(ask({ affinityLabels }, pod, running).fit, fit));

  // 10 * (all - those with the node's value) / all; a node without the label: 0.
  const spreads: [what: string, pod: Stored<Pod>, running: Record<string, string[]>, scores: Record<string, number>][] =
    [
      ['no pods yet: 10 where the label is', web('p'), {}, { a: 10, b: 10, c: 10, bare: 0 }],
      ['3 in x, 1 in y', web('p'), { a: ['q', 'r'], b: ['s'], c: ['t'] }, { a: 2, b: 2, c: 7, bare: 0 }],
      ['all in x', web('p'), { a: ['q', 'r'] }, { a: 0, b: 0, c: 10, bare: 0 }],
      [
        'one on a node without the label counts in all',
        web('p'),
        { a: ['q'], bare: ['r'] },
        { a: 5, b: 5, c: 10, bare: 0 },
      ],
      ['a pod of no service', testPod('p'), { a: ['q'] }, { a: 10, b: 10, c: 10, bare: 0 }],
    ];
  for (const [what, pod, running, scores] of spreads)
    test(`anti-affinity: ${what}`, () =>
      assert.deepEqual(ask({ antiAffinityLabelsPreference: ['zone'] }, pod, running).scores, scores));

  test('without a preference nothing is scored', () => assert.equal(ask({}, web('p'), {}).scores, undefined));
});
