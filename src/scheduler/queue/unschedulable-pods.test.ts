/** An event is evaluated only for pods whose rejecting plugins registered it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnschedulablePods } from './unschedulable-pods.ts';

const groupsOf = (pods: UnschedulablePods<{ rejectedBy: ReadonlySet<string> }>): Record<string, string[]> =>
  Object.fromEntries([...pods.groups()].map(([plugin, group]) => [plugin, [...group.keys()]]));

test('pods are found by each plugin that rejected them, until they leave or are rejected by others', () => {
  const pods = new UnschedulablePods();
  pods.set('a', { rejectedBy: new Set(['Fit', 'Affinity']) });
  pods.set('b', { rejectedBy: new Set(['Fit']) });
  assert.deepEqual(groupsOf(pods), { Fit: ['a', 'b'], Affinity: ['a'] });
  pods.set('a', { rejectedBy: new Set(['Ports']) });
  assert.deepEqual(groupsOf(pods), { Fit: ['b'], Ports: ['a'] });
  pods.delete('b');
  pods.delete('b');
  assert.deepEqual(groupsOf(pods), { Ports: ['a'] });
  assert.deepEqual([pods.size, pods.get('b'), [...pods.entries()].map(([uid]) => uid)], [1, undefined, ['a']]);
});

test('a pod may be removed during its evaluation', () => {
  const pods = new UnschedulablePods();
  for (const uid of ['a', 'b', 'c']) pods.set(uid, { rejectedBy: new Set(['Fit', 'Ports']) });
  const seen: string[] = [];
  for (const [plugin, group] of pods.groups())
    for (const uid of group.keys()) {
      seen.push(`${plugin} ${uid}`);
      pods.delete(uid);
    }
  assert.deepEqual([seen, pods.size], [['Fit a', 'Fit b', 'Fit c'], 0]);
});
