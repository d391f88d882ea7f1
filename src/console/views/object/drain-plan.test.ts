import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { Stored } from '../../../api/object.ts';
import { drainAction, drainCommand, drainLosses } from './drain-plan.ts';

interface Traits {
  readonly owner?: string;
  readonly emptyDir?: boolean;
  readonly mirror?: boolean;
  readonly phase?: string;
}

const podOf = ({ owner, emptyDir = false, mirror = false, phase = 'Running' }: Traits): Stored<Pod> => ({
  metadata: {
    name: 'p',
    namespace: 'ns',
    uid: 'u',
    resourceVersion: '1',
    ...(mirror ? { annotations: { 'kubernetes.io/config.mirror': 'x' } } : {}),
    ...(owner === undefined
      ? {}
      : { ownerReferences: [{ apiVersion: 'v1', kind: owner, name: 'o', uid: 'o', controller: true }] }),
  },
  spec: { containers: [], ...(emptyDir ? { volumes: [{ name: 'v', emptyDir: {} }] } : {}) },
  status: { phase },
});

const none = { deleteEmptyDir: false, force: false };

for (const [what, traits, careful, agreed] of [
  ['a pod of a ReplicaSet', { owner: 'ReplicaSet' }, 'evict', 'evict'],
  ['a pod of a DaemonSet', { owner: 'DaemonSet' }, 'daemonSet', 'daemonSet'],
  ['a pod of a DaemonSet that has ended', { owner: 'DaemonSet', phase: 'Failed' }, 'evict', 'evict'],
  ['a static pod', { mirror: true, owner: 'Node' }, 'mirror', 'mirror'],
  ['a pod of nobody', {}, 'unmanaged', 'evict'],
  ['a pod of nobody that has ended', { phase: 'Succeeded', emptyDir: true }, 'evict', 'evict'],
  ['data of a pod', { owner: 'ReplicaSet', emptyDir: true }, 'emptyDir', 'evict'],
  ['data of a pod of nobody', { emptyDir: true }, 'unmanaged', 'evict'],
] as const)
  test(`draining: ${what}`, () => {
    const pod = podOf(traits);
    assert.equal(drainAction(pod, none), careful);
    assert.equal(drainAction(pod, { deleteEmptyDir: true, force: true }), agreed);
    // With all options set no pod blocks the drain.
    const losses = drainLosses([pod]);
    const counted = drainAction(pod, { deleteEmptyDir: losses.emptyDir > 0, force: losses.unmanaged > 0 });
    assert.equal(counted, agreed);
  });

test('draining: the command has the flags of the options', () => {
  assert.equal(drainCommand('n1', none), 'kubectl drain n1 --ignore-daemonsets');
  assert.equal(
    drainCommand('n1', { deleteEmptyDir: true, force: true }),
    'kubectl drain n1 --ignore-daemonsets --delete-emptydir-data --force',
  );
});
