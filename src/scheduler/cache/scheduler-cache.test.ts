import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/gen/core-v1.ts';
import { stored } from '../../api/stored-fixture.ts';
import type { Stored } from '../../api/object.ts';
import { testNode, testPod } from '../scheduler-fixture.ts';
import type { NodeInfo } from './node-info.ts';
import { createSchedulerCache, type SchedulerCache } from './scheduler-cache.ts';

const running = (more: { metadata?: object; spec?: object; status?: Pod['status'] } = {}): Stored<Pod> => {
  const { metadata, spec } = testPod('p', { cpu: '1' });
  return stored({
    metadata: { ...metadata, labels: { app: 'x' }, ...more.metadata },
    spec: { ...spec!, nodeName: 'a', ...more.spec },
    ...(more.status && { status: more.status }),
  });
};

/** A cache with nodes a and b. */
function twoNodes(): { cache: SchedulerCache; changes: () => number; node: (name: string) => NodeInfo } {
  const cache = createSchedulerCache();
  for (const name of ['a', 'b']) cache.addNode(testNode(name));
  const snapshot = cache.snapshot();
  return { cache, changes: () => snapshot.tracker.sequence, node: (name) => snapshot.byName(name)! };
}

const bigger = { name: 'c', image: 'i', resources: { requests: { cpu: '2' } } };
const resizing: Pod['status'] = {
  containerStatuses: [
    { name: 'c', resources: { requests: { cpu: '2' } }, ready: true, restartCount: 0, image: 'i', imageID: '' },
  ],
};
for (const [what, next, changes] of [
  ['a condition', running({ status: { conditions: [{ type: 'Ready', status: 'True' }] } }), false],
  ['an annotation', running({ metadata: { annotations: { a: 'b' } } }), false],
  ['equal labels', running({ metadata: { labels: { app: 'x' } } }), false],
  ['other labels', running({ metadata: { labels: { app: 'y' } } }), true],
  ['a deletion', running({ metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }), true],
  ['a start time, by which victims are chosen', running({ status: { startTime: '2026-01-01T00:00:00Z' } }), true],
  ['other requests', running({ spec: { containers: [bigger] } }), true],
  ['a resize on its way', running({ status: resizing }), true],
  ['a toleration', running({ spec: { tolerations: [{ operator: 'Exists' }] } }), true],
] as const)
  test(`a new version of a running pod with ${what} is ${changes ? '' : 'no '}change of its node`, () => {
    const { cache, changes: count, node } = twoNodes();
    cache.addPod(running());
    const before = count();
    cache.updatePod(next);
    assert.equal(count() > before, changes);
    assert.equal(node('a').pods.get('uid-p'), next);
    assert.equal(node('a').requested.milliCpu, /requests|resize/.test(what) ? 2000 : 1000);
  });

test('a pod that is seen bound where it was assumed is no change of the node; elsewhere it is', () => {
  for (const where of ['a', 'b']) {
    const { cache, changes, node } = twoNodes();
    cache.assume(running({ spec: { nodeName: undefined } }), 'a');
    const before = changes();
    const bound = running({ spec: { nodeName: where } });
    cache.addPod(bound);
    assert.equal(changes() > before, where === 'b');
    assert.equal(cache.isAssumed('uid-p'), false);
    assert.equal(cache.nodeOf('uid-p'), where);
    assert.deepEqual([...node(where).pods.values()], [bound]);
    assert.deepEqual(
      ['a', 'b'].map((name) => node(name).requested.milliCpu),
      where === 'a' ? [1000, 0] : [0, 1000],
    );
    cache.forget('uid-p');
    assert.equal(node(where).pods.size, 1, 'no assumption is left to take back');
  }
});
