import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodSpec } from '../../../api/gen/core-v1.ts';
import type { Stored } from '../../../api/object.ts';
import { testPod } from '../../scheduler-fixture.ts';
import { ZONE, none, outcome, pod, type Scene, web, zones } from '../scene-fixture.ts';

const term = (topologyKey: string, matchLabels: Record<string, string> = web, more: object = {}) => ({
  topologyKey,
  labelSelector: { matchLabels },
  ...more,
});
const near = (...terms: object[]): Partial<PodSpec> => ({
  affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms as never } },
});
const apart = (...terms: object[]): Partial<PodSpec> => ({
  affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms as never } },
});
const prefer = (kind: 'podAffinity' | 'podAntiAffinity', topologyKey: string): Partial<PodSpec> => ({
  affinity: {
    [kind]: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm: term(topologyKey) }] },
  },
});

const AFFINITY = "node(s) didn't match pod affinity rules";
const ANTI = "node(s) didn't match pod anti-affinity rules";
const EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules";
const other = (namespace: string): Stored<Pod> => pod('q', web, {}, namespace);

const affinityCases: readonly [string, Omit<Scene, 'nodes'>, string][] = [
  ['near a pod of the zone', { pod: pod('p', {}, near(term(ZONE))), running: [[other('default'), 'c']] }, 'c'],
  ['near nobody', { pod: pod('p', {}, near(term(ZONE))) }, none(`3 ${AFFINITY}`)],
  [
    'pods of other namespaces do not count',
    { pod: pod('p', {}, near(term(ZONE))), running: [[other('x'), 'c']] },
    none(`3 ${AFFINITY}`),
  ],
  [
    'unless named',
    { pod: pod('p', {}, near(term(ZONE, web, { namespaces: ['x'] }))), running: [[other('x'), 'c']] },
    'c',
  ],
  [
    'or selected',
    {
      pod: pod('p', {}, near(term(ZONE, web, { namespaceSelector: { matchLabels: { team: 't' } } }))),
      running: [[other('x'), 'c']],
      deps: { namespaceLabels: (n) => (n === 'x' ? { team: 't' } : undefined) },
    },
    'c',
  ],
  [
    'or not selected',
    {
      pod: pod('p', {}, near(term(ZONE, web, { namespaceSelector: { matchLabels: { team: 't' } } }))),
      running: [[other('x'), 'c']],
    },
    none(`3 ${AFFINITY}`),
  ],
  [
    'an empty namespace selector is all',
    { pod: pod('p', {}, near(term(ZONE, web, { namespaceSelector: {} }))), running: [[other('x'), 'c']] },
    'c',
  ],
  ['a missing topology key', { pod: pod('p', web, near(term('rack'))) }, none(`3 ${AFFINITY}`)],
  [
    'all terms by one pod',
    {
      pod: pod('p', {}, near(term(ZONE), term(ZONE, { tier: 'x' }))),
      running: [
        [other('default'), 'c'],
        [pod('r', { tier: 'x' }), 'c'],
      ],
    },
    none(`3 ${AFFINITY}`),
  ],
  [
    'matchLabelKeys narrow',
    {
      pod: pod('p', { v: '2' }, near(term(ZONE, web, { matchLabelKeys: ['v'] }))),
      running: [
        [pod('q', { ...web, v: '1' }), 'a'],
        [pod('r', { ...web, v: '2' }), 'c'],
      ],
    },
    'c',
  ],
  ['apart by zone', { pod: pod('p', {}, apart(term(ZONE))), running: [[other('default'), 'a']] }, 'c'],
  [
    'apart, no room',
    {
      pod: pod('p', {}, apart(term(ZONE))),
      running: [
        [other('default'), 'a'],
        [pod('r', web), 'c'],
      ],
    },
    none(`3 ${ANTI}`),
  ],
  [
    'existing pods keep others away',
    {
      pod: pod('p', web),
      running: [
        [pod('q', {}, apart(term(ZONE))), 'a'],
        [pod('r', {}, apart(term(ZONE))), 'c'],
      ],
    },
    none(`3 ${EXISTING}`),
  ],
  [
    'but not whom they do not mean',
    {
      pod: pod('p', { app: 'db' }),
      running: [
        [pod('q', {}, apart(term(ZONE))), 'a'],
        [pod('r', {}, apart(term(ZONE))), 'b'],
        [pod('s', { app: 'db' }), 'a'],
        [testPod('big', { cpu: '3' }), 'a'],
        [testPod('big2', { cpu: '3' }), 'b'],
      ],
    },
    'c',
  ],
  [
    'preferring company',
    {
      pod: pod('p', {}, prefer('podAffinity', ZONE)),
      running: [
        [other('default'), 'c'],
        [testPod('big', { cpu: '1' }), 'c'],
      ],
    },
    'c',
  ],
  [
    'preferring distance',
    { pod: pod('p', {}, prefer('podAntiAffinity', ZONE)), running: [[other('default'), 'a']] },
    'c',
  ],
  [
    'being preferred',
    {
      pod: pod('p', web),
      running: [
        [pod('q', {}, prefer('podAffinity', ZONE)), 'c'],
        [testPod('big', { cpu: '1' }), 'c'],
      ],
    },
    'c',
  ],
];
for (const [name, scene, wanted] of affinityCases)
  test(`pod affinity: ${name}`, () => assert.equal(outcome({ nodes: zones, ...scene }), wanted));

test('the first pod of a group with affinity to itself fits anywhere', () => {
  assert.ok(['a', 'b', 'c'].includes(outcome({ nodes: zones, pod: pod('p', web, near(term(ZONE))) })));
});
