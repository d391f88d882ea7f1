/** Messages of nodes that do not fit because of a pod's volumes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../../api/gen/core-v1.ts';
import type { StorageClass } from '../../api/gen/storage-v1.ts';
import type { Stored } from '../../api/object.ts';
import { stored } from '../../api/stored-fixture.ts';
import type { SchedulerPluginDeps } from '../framework/plugin-deps.ts';
import { testPod } from '../scheduler-fixture.ts';
import { HOST, ZONE, none, outcome, zones } from './scene-fixture.ts';

const claim = (spec: object = {}, more: object = {}): Stored<PersistentVolumeClaim> =>
  stored<PersistentVolumeClaim>({ metadata: { name: 'c', namespace: 'default' }, spec, ...more });
const bound = (spec: object = {}): Stored<PersistentVolumeClaim> =>
  claim(
    { volumeName: 'pv', ...spec },
    { metadata: { name: 'c', namespace: 'default', annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } } },
  );
const volume = (node: string, labels: Record<string, string> = {}): Stored<PersistentVolume> =>
  stored<PersistentVolume>({
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
const using = (name: string): Stored<Pod> =>
  testPod(name, { spec: { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] } });
const volumeCases: readonly [string, Partial<SchedulerPluginDeps>, (readonly [Stored<Pod>, string])[], string][] = [
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
    { claim: () => bound(), volume: () => stored({ metadata: { name: 'pv', labels: { [ZONE]: 'z9__z8' } } }) },
    [],
    none('3 node(s) had no available volume zone'),
  ],
  [
    'a volume of one zone',
    { claim: () => bound(), volume: () => stored({ metadata: { name: 'pv', labels: { [ZONE]: 'z2' } } }) },
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
    { claim: () => bound({ accessModes: ['ReadWriteOncePod'] }), volume: () => stored({ metadata: { name: 'pv' } }) },
    [[using('q'), 'a']],
    none('3 node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode'),
  ],
];
for (const [name, deps, running, wanted] of volumeCases)
  test(`volumes: ${name}`, () => assert.equal(outcome({ nodes: zones, pod: using('p'), running, deps }), wanted));

test('volumes: the claim of an ephemeral volume is waited for, alone and beside a named claim', () => {
  const ephemeral = { name: 'e', ephemeral: { volumeClaimTemplate: { spec: {} } } };
  const named = { name: 'v', persistentVolumeClaim: { claimName: 'c' } };
  const waits = none('waiting for ephemeral volume controller to create the persistentvolumeclaim "p-e"');
  const found = (_namespace: string, name: string): Stored<PersistentVolumeClaim> | undefined =>
    name === 'c' ? bound() : undefined;
  const deps = { claim: found, volume: () => volume('b') };
  assert.equal(outcome({ nodes: zones, pod: testPod('p', { spec: { volumes: [ephemeral] } }) }), waits);
  assert.equal(outcome({ nodes: zones, pod: testPod('p', { spec: { volumes: [ephemeral, named] } }), deps }), waits);
});
