/** Orders of observations and waits. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { createPodCache, emptyPodStatus, type PodCache, type PodIdentity } from './pod-cache.ts';

const pod: PodIdentity = { uid: 'u', name: 'web', namespace: 'default' };
const status = (name: string) => ({ ...emptyPodStatus(pod), name });

async function state(promise: Promise<{ name: string }>): Promise<string> {
  let seen = 'waits';
  promise.then(
    ({ name }) => (seen = name),
    (error: Error) => (seen = `error ${error.message}`),
  );
  await new VirtualClock().settle();
  return seen;
}

describe('pod cache', () => {
  const cases: readonly {
    name: string;
    act: (cache: PodCache) => void;
    min: (cache: PodCache) => number;
    shows: string;
  }[] = [
    { name: 'knows nothing before the first relist', act: () => undefined, min: () => 0, shows: 'waits' },
    {
      name: 'shows an empty status after it',
      act: (cache) => cache.updateTime(cache.beginObservation()),
      min: () => 0,
      shows: 'web',
    },
    {
      name: 'shows what was inspected later than asked',
      act: (cache) => void cache.set('u', { status: status('new'), stamp: cache.beginObservation() }),
      min: () => 1,
      shows: 'new',
    },
    {
      name: 'waits for something newer than the last act',
      act: (cache) => void cache.set('u', { status: status('old'), stamp: cache.beginObservation() }),
      min: (cache) => cache.now(),
      shows: 'waits',
    },
    {
      name: 'takes unchanged entries for as new as the relist',
      act: (cache) => {
        cache.set('u', { status: status('same'), stamp: cache.beginObservation() });
        cache.updateTime(cache.beginObservation() + 100);
      },
      min: () => 50,
      shows: 'same',
    },
    {
      name: 'never lets an older observation replace a newer one',
      act: (cache) => {
        const older = cache.beginObservation();
        cache.set('u', { status: status('newer'), stamp: cache.beginObservation() });
        assert.equal(cache.set('u', { status: status('older'), stamp: older }), false);
      },
      min: () => 1,
      shows: 'newer',
    },
  ];
  for (const { name, act, min, shows } of cases) {
    it(name, async () => {
      const cache = createPodCache();
      act(cache);
      assert.equal(await state(cache.getNewerThan(pod, min(cache))), shows);
    });
  }

  it('requests an inspection when a caller waits, and resolves the wait with it', async () => {
    const cache = createPodCache();
    const asked: string[] = [];
    cache.onWait(({ uid }) => {
      asked.push(uid);
      const stamp = cache.beginObservation();
      queueMicrotask(() => cache.set(uid, { status: status('fresh'), stamp }));
    });
    assert.equal((await cache.getNewerThan(pod, cache.now())).name, 'fresh');
    assert.deepEqual(asked, ['u']);
  });

  it('rejects waiting callers with an error, and tries again for the next', async () => {
    const cache = createPodCache();
    let tries = 0;
    cache.onWait(({ uid }) => {
      const stamp = cache.beginObservation();
      const error = tries++ === 0 ? { error: new Error('no answer') } : {};
      queueMicrotask(() => cache.set(uid, { status: status('fine'), stamp, ...error }));
    });
    assert.equal(await state(cache.getNewerThan(pod, 0)), 'error no answer');
    assert.equal(await state(cache.getNewerThan(pod, 0)), 'fine');
  });

  it('stops waiting when aborted', async () => {
    const cache = createPodCache();
    const controller = new AbortController();
    const waiting = state(cache.getNewerThan(pod, 0, controller.signal));
    controller.abort(new Error('enough'));
    assert.equal(await waiting, 'error enough');
  });
});
