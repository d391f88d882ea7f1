/** Examples: nodes that declare features that a pod needs, and the events that retry a pod without a node. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Node, Pod } from '../../../api/gen/core-v1.ts';
import { stored } from '../../../api/stored-fixture.ts';
import type { Stored } from '../../../api/object.ts';
import { createSchedulerCache } from '../../cache/scheduler-cache.ts';
import { nodeChanges } from '../../follow-cluster.ts';
import { podClassKey } from '../../framework/pod-class.ts';
import { testNode, testPod } from '../../scheduler-fixture.ts';
import { createNodeDeclaredFeatures } from './node-declared-features.ts';

const RESTART = 'RestartAllContainersOnContainerExits';
const declaring = (name: string, ...declaredFeatures: string[]): Stored<Node> => {
  const node = testNode(name);
  return stored({
    ...node,
    status: { ...node.status, ...(declaredFeatures.length === 0 ? {} : { declaredFeatures }) },
  });
};
const plain = testPod('p');
const needing = testPod('p', {
  spec: { containers: [{ name: 'c', image: 'i', restartPolicyRules: [{ action: 'RestartAllContainers' }] }] },
});
const plugin = createNodeDeclaredFeatures();

test('a pod that needs nothing leaves the plugin out', () => {
  const status = plugin.preFilter?.(new Map(), plain, createSchedulerCache().snapshot());
  assert.equal((status as { code: string } | undefined)?.code, 'skip');
});

describe('a pod that needs a feature', () => {
  const cases: [what: string, node: Stored<Node>, refused: string | undefined][] = [
    ['goes where it is declared', declaring('a', 'Other', RESTART), undefined],
    ['not where others are', declaring('b', 'Other'), "node(s) didn't match Pod's required features"],
    ['nor where none is', declaring('c'), "node(s) didn't match Pod's required features"],
  ];
  for (const [what, node, refused] of cases)
    test(what, () => {
      const cache = createSchedulerCache();
      cache.addNode(node);
      const [state, snapshot] = [new Map<string, unknown>(), cache.snapshot()];
      const info = snapshot.byName(node.metadata.name!)!;
      assert.equal(plugin.preFilter?.(state, needing, snapshot), undefined);
      const status = plugin.filter?.(state, needing, info);
      assert.deepEqual(
        [status?.code, status?.reasons[0]],
        refused === undefined ? [undefined, undefined] : ['unresolvable', refused],
      );
      assert.deepEqual(
        plugin.explain?.(state, needing, info).map(({ what: lacks }) => lacks),
        refused === undefined ? [] : [`the kubelet does not declare the feature ${RESTART}`],
      );
    });

  test('separates pods by required features: cached results of one do not apply to the other', () => {
    assert.notEqual(
      podClassKey(needing),
      podClassKey({ ...needing, spec: { containers: [{ name: 'c', image: 'i' }] } }),
    );
  });
});

test('only changes of declared features are queueing events', () => {
  assert.deepEqual(nodeChanges(declaring('n'), declaring('n', RESTART)), ['node/update-declared-feature']);
  assert.deepEqual(nodeChanges(declaring('n', RESTART), declaring('n', RESTART)), []);
});

describe('wakes for', () => {
  const hints = new Map((plugin.events ?? []).map(({ event, hint }) => [event, hint]));
  const cases: [
    what: string,
    event: 'node/add' | 'node/update-declared-feature' | 'pod/update',
    old: Node | Pod | undefined,
    now: Node | Pod,
    wakes: boolean,
  ][] = [
    ['a new node that can', 'node/add', undefined, declaring('n', RESTART), true],
    ['not one that cannot', 'node/add', undefined, declaring('n'), false],
    ['a node that can now', 'node/update-declared-feature', declaring('n'), declaring('n', RESTART), true],
    ['not one that can something else', 'node/update-declared-feature', declaring('n'), declaring('n', 'Other'), false],
    ['a pod that needs it no more', 'pod/update', needing, plain, true],
    ['not one that needs it still', 'pod/update', needing, needing, false],
    ['a pod of which it is not known how it was', 'pod/update', undefined, needing, true],
  ];
  for (const [what, event, old, now, wakes] of cases)
    test(what, () =>
      assert.equal(hints.get(event)?.(event === 'pod/update' ? (now as Stored<Pod>) : needing, old, now), wakes),
    );
});
