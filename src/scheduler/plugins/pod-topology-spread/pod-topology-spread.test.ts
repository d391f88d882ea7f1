import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodSpec } from '../../../api/gen/core-v1.ts';
import { compileLabelMap } from '../../../api/label-selector.ts';
import type { Stored } from '../../../api/object.ts';
import { testNode, testPod } from '../../scheduler-fixture.ts';
import { ZONE, none, outcome, pod, type Scene, web, zoned, zones } from '../scene-fixture.ts';

const spread = (topologyKey: string, more: object = {}): Partial<PodSpec> => ({
  topologySpreadConstraints: [
    { topologyKey, maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule', labelSelector: { matchLabels: web }, ...more },
  ],
});

const SPREAD = "node(s) didn't match pod topology spread constraints";
const other = (namespace: string): Stored<Pod> => pod('q', web, {}, namespace);

const spreadCases: readonly [string, Scene, string][] = [
  ['the emptier zone', { nodes: zones, pod: pod('p', web, spread(ZONE)), running: [[other('default'), 'a']] }, 'c'],
  [
    'terminating pods do not count',
    {
      nodes: [zoned('a', 'z1')],
      pod: pod('p', web, spread(ZONE)),
      running: [
        [{ ...pod('q', web), metadata: { ...pod('q', web).metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }, 'a'],
      ],
    },
    'a',
  ],
  [
    'no zone left',
    {
      nodes: [
        zoned('a', 'z1'),
        testNode('b', { labels: { [ZONE]: 'z2' }, spec: { unschedulable: true } }),
        testNode('c'),
      ],
      pod: pod('p', web, spread(ZONE)),
      running: [[other('default'), 'a']],
    },
    none(`1 ${SPREAD}`, `1 ${SPREAD} (missing required label)`, '1 node(s) were unschedulable'),
  ],
  [
    'nodes the pod cannot use do not count, by affinity',
    {
      nodes: zones,
      pod: pod('p', web, { ...spread(ZONE), nodeSelector: { [ZONE]: 'z1' } }),
      running: [
        [other('default'), 'a'],
        [testPod('big', { cpu: '3' }), 'a'],
      ],
    },
    'b',
  ],
  [
    'unless affinity is ignored',
    {
      nodes: zones,
      pod: pod('p', web, { ...spread(ZONE, { nodeAffinityPolicy: 'Ignore' }), nodeSelector: { [ZONE]: 'z1' } }),
      running: [[other('default'), 'a']],
    },
    none("1 node(s) didn't match Pod's node affinity/selector", `2 ${SPREAD}`),
  ],
  [
    'tainted nodes count',
    {
      nodes: [
        zoned('a', 'z1'),
        testNode('b', { labels: { [ZONE]: 'z2' }, spec: { taints: [{ key: 't', effect: 'NoSchedule' }] } }),
        zoned('c', 'z1'),
      ],
      pod: pod('p', web, spread(ZONE)),
      running: [[other('default'), 'a']],
    },
    none('1 node(s) had untolerated taint(s)', `2 ${SPREAD}`),
  ],
  [
    'unless taints are honoured',
    {
      nodes: [
        zoned('a', 'z1'),
        testNode('b', { labels: { [ZONE]: 'z2' }, spec: { taints: [{ key: 't', effect: 'NoSchedule' }] } }),
      ],
      pod: pod('p', web, spread(ZONE, { nodeTaintsPolicy: 'Honor' })),
      running: [[other('default'), 'a']],
    },
    'a',
  ],
  [
    'too few domains',
    {
      nodes: zones,
      pod: pod('p', web, spread(ZONE, { minDomains: 3 })),
      running: [
        [other('default'), 'a'],
        [pod('r', web), 'c'],
      ],
    },
    none(`3 ${SPREAD}`),
  ],
  [
    'other revisions do not count',
    {
      nodes: [zoned('a', 'z1'), zoned('c', 'z2')],
      pod: pod('p', { ...web, rev: '2' }, spread(ZONE, { matchLabelKeys: ['rev'] })),
      running: [
        [pod('q', { ...web, rev: '1' }), 'a'],
        [pod('r', { ...web, rev: '2' }), 'c'],
      ],
    },
    'a',
  ],
  [
    'softly',
    {
      nodes: zones,
      pod: pod('p', web, spread(ZONE, { whenUnsatisfiable: 'ScheduleAnyway' })),
      running: [
        [other('default'), 'a'],
        [testPod('big', { cpu: '1' }), 'c'],
      ],
    },
    'c',
  ],
  [
    'siblings, without being asked',
    {
      nodes: [testNode('a'), testNode('b')],
      pod: pod('p', web),
      running: [
        [pod('q', web), 'a'],
        [pod('r', web), 'a'],
        [testPod('big', { cpu: '1' }), 'b'],
      ],
      deps: { siblings: () => compileLabelMap(web) },
    },
    'b',
  ],
];
for (const [name, scene, wanted] of spreadCases)
  test(`topology spread: ${name}`, () => assert.equal(outcome(scene), wanted));

test('the label look-ups of a pod grow with its constraints, not with their square nor with its node selector', () => {
  /** Labels of a node that are read while a pod with so many constraints is scheduled. */
  const readsWith = (count: number): number => {
    let reads = 0;
    const counting = (labels: Record<string, string>): Record<string, string> =>
      new Proxy(labels, {
        get: (target, key) => (reads++, Reflect.get(target, key) as unknown),
        getOwnPropertyDescriptor: (target, key) => (reads++, Reflect.getOwnPropertyDescriptor(target, key)),
      });
    const keys = Array.from({ length: count }, (_, at) => `k${at}`);
    const labels = Object.fromEntries(keys.map((key) => [key, 'v']));
    const topologySpreadConstraints = keys.flatMap((topologyKey) =>
      ['ScheduleAnyway', 'DoNotSchedule'].map((whenUnsatisfiable) => ({
        ...{ topologyKey, whenUnsatisfiable, maxSkew: 1 },
        labelSelector: { matchLabels: web },
      })),
    );
    const nodes = ['a', 'b', 'c'].map((name) => {
      const node = zoned(name, 'z1');
      return { ...node, metadata: { ...node.metadata, labels: counting({ ...node.metadata.labels, ...labels }) } };
    });
    const found = outcome({ nodes, pod: pod('p', web, { topologySpreadConstraints, nodeSelector: labels }) });
    assert.ok(['a', 'b', 'c'].includes(found), found);
    return reads;
  };
  const [few, many] = [readsWith(100), readsWith(200)];
  assert.ok(many < 2.5 * few, `${few} reads with 100 constraints, ${many} with 200`);
});
