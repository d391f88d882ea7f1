import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node, PersistentVolume, PersistentVolumeClaim, Pod, PodSpec } from '../../api/gen/core-v1.ts';
import type { StorageClass } from '../../api/gen/storage-v1.ts';
import { compileLabelMap } from '../../api/label-selector.ts';
import { createSeededRandom } from '../../platform/sim/random.ts';
import { createSchedulerCache } from '../cache/scheduler-cache.ts';
import { fitErrorMessage } from '../fit-error.ts';
import type { SchedulerPluginDeps } from '../framework/plugin-deps.ts';
import { schedulePod } from '../schedule-pod.ts';
import { testNode, testPluginDeps, testPod } from '../scheduler-fixture.ts';
import { createProfile } from '../framework/profile.ts';
import { defaultPlugins } from './list.ts';

const HOST = 'kubernetes.io/hostname';
const ZONE = 'topology.kubernetes.io/zone';

interface Scene {
  readonly nodes: readonly Node[];
  readonly pod: Pod;
  readonly running?: readonly (readonly [Pod, string])[];
  readonly deps?: Partial<SchedulerPluginDeps>;
}

/** The chosen node, or the message. */
function outcome({ nodes, pod, running = [], deps = {} }: Scene): string {
  const plugins = defaultPlugins.map(({ create }) => create(testPluginDeps(deps)));
  const profile = createProfile({
    schedulerName: 'default-scheduler',
    plugins,
    weights: Object.fromEntries(defaultPlugins.map(({ weight }, i) => [plugins[i]?.name ?? '', weight])),
  });
  const cache = createSchedulerCache();
  for (const node of nodes) cache.addNode(node);
  for (const [placed, node] of running) cache.assume(placed, node);
  const result = schedulePod(
    { profile, pod, snapshot: cache.snapshot(), random: createSeededRandom(7), cursor: { startAt: 0 } },
    new Map(),
  );
  return result.node ?? fitErrorMessage(result.diagnosis);
}

const zoned = (name: string, zone: string, more: Record<string, string> = {}): Node =>
  testNode(name, { labels: { [ZONE]: zone, ...more } });
const zones = [zoned('a', 'z1'), zoned('b', 'z1'), zoned('c', 'z2')];
const pod = (
  name: string,
  labels: Record<string, string> = {},
  spec: Partial<PodSpec> = {},
  namespace = 'default',
): Pod => {
  const made = testPod(name, { spec });
  return { ...made, metadata: { ...made.metadata, labels, namespace } };
};
const web = { app: 'web' };
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
const spread = (topologyKey: string, more: object = {}): Partial<PodSpec> => ({
  topologySpreadConstraints: [
    { topologyKey, maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule', labelSelector: { matchLabels: web }, ...more },
  ],
});

const AFFINITY = "node(s) didn't match pod affinity rules";
const ANTI = "node(s) didn't match pod anti-affinity rules";
const EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules";
const SPREAD = "node(s) didn't match pod topology spread constraints";
const none = (...reasons: string[]): string => `0/3 nodes are available: ${reasons.join(', ')}.`;
const other = (namespace: string): Pod => pod('q', web, {}, namespace);

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

test('the first of a group that wants to be together goes anywhere', () => {
  assert.ok(['a', 'b', 'c'].includes(outcome({ nodes: zones, pod: pod('p', web, near(term(ZONE))) })));
});

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

test('the node that holds the image', () => {
  const holding = testNode('b');
  const image = { names: ['registry/app:latest'], sizeBytes: 900 * 1024 * 1024 };
  assert.equal(
    outcome({
      nodes: [testNode('a'), { ...holding, status: { ...holding.status, images: [image] } }],
      pod: testPod('p', { spec: { containers: [{ name: 'c', image: 'registry/app' }] } }),
    }),
    'b',
  );
});

const claim = (spec: object = {}, more: object = {}): PersistentVolumeClaim => ({
  metadata: { name: 'c', namespace: 'default' },
  spec,
  ...more,
});
const bound = (spec: object = {}): PersistentVolumeClaim =>
  claim(
    { volumeName: 'pv', ...spec },
    { metadata: { name: 'c', namespace: 'default', annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } } },
  );
const volume = (node: string, labels: Record<string, string> = {}): PersistentVolume => ({
  metadata: { name: 'pv', labels },
  spec: {
    nodeAffinity: {
      required: { nodeSelectorTerms: [{ matchExpressions: [{ key: HOST, operator: 'In', values: [node] }] }] },
    },
  },
});
const late = (provisioner: string): StorageClass => ({
  metadata: { name: 'late' },
  provisioner,
  volumeBindingMode: 'WaitForFirstConsumer',
});
const using = (name: string): Pod =>
  testPod(name, { spec: { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] } });
const volumeCases: readonly [string, Partial<SchedulerPluginDeps>, (readonly [Pod, string])[], string][] = [
  ['no such claim', {}, [], none('persistentvolumeclaim "c" not found')],
  [
    'a claim being deleted',
    { claim: () => claim({}, { metadata: { name: 'c', deletionTimestamp: 'x' } }) },
    [],
    none('persistentvolumeclaim "c" is being deleted'),
  ],
  ['an unbound claim', { claim: () => claim() }, [], none('pod has unbound immediate PersistentVolumeClaims')],
  [
    'a lost claim',
    { claim: () => claim({ volumeName: 'pv' }, { status: { phase: 'Lost' } }) },
    [],
    none('persistentvolumeclaim "c" bound to non-existent persistentvolume "pv"'),
  ],
  ['a volume on one node', { claim: () => bound(), volume: () => volume('b') }, [], 'b'],
  [
    'a volume on a node that is gone',
    { claim: () => bound(), volume: () => volume('x') },
    [],
    none("3 node(s) didn't match PersistentVolume's node affinity"),
  ],
  [
    'a volume that is gone',
    { claim: () => bound() },
    [],
    none('3 node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)'),
  ],
  [
    'a volume of another zone',
    { claim: () => bound(), volume: () => ({ metadata: { name: 'pv', labels: { [ZONE]: 'z9__z8' } } }) },
    [],
    none('3 node(s) had no available volume zone'),
  ],
  [
    'a volume of one zone',
    { claim: () => bound(), volume: () => ({ metadata: { name: 'pv', labels: { [ZONE]: 'z2' } } }) },
    [],
    'c',
  ],
  [
    'a claim that follows the pod to a chosen node',
    {
      claim: () =>
        claim(
          { storageClassName: 'late' },
          { metadata: { name: 'c', annotations: { 'volume.kubernetes.io/selected-node': 'b' } } },
        ),
      storageClass: () => late('x'),
    },
    [],
    'b',
  ],
  [
    'nobody to provision',
    { claim: () => claim({ storageClassName: 'late' }), storageClass: () => late('kubernetes.io/no-provisioner') },
    [],
    none("3 node(s) didn't find available persistent volumes to bind"),
  ],
  [
    'used by one pod only',
    { claim: () => bound({ accessModes: ['ReadWriteOncePod'] }), volume: () => ({ metadata: { name: 'pv' } }) },
    [[using('q'), 'a']],
    none('3 node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode'),
  ],
];
for (const [name, deps, running, wanted] of volumeCases)
  test(`volumes: ${name}`, () => assert.equal(outcome({ nodes: zones, pod: using('p'), running, deps }), wanted));
