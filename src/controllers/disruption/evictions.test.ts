/**
 * Evictions with the real server: pods that budgets do not cover, refused evictions, and the DeleteOptions. Upstream:
 * test/integration/evictions.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PodDisruptionBudgets, Pods } from '../../api/gen/resources.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { StatusError } from '../../api/status-error.ts';
import { createDisruptionController } from './disruption-controller.ts';
import { startServerHarness, type ServerHarness } from '../server-harness-fixture.ts';

const labels = { app: 'web' };

/** Pods `a`, `b` … without an owner, and a budget for them. */
async function start(count: number, budget: object): Promise<ServerHarness> {
  const h = await startServerHarness([createDisruptionController]);
  for (const name of 'abcdefghij'.slice(0, count))
    await h.create(Pods, {
      metadata: { name, labels },
      spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] },
    });
  await h.create(PodDisruptionBudgets, {
    metadata: { name: 'b' },
    spec: { selector: { matchLabels: labels }, ...budget },
  });
  await h.run(500);
  return h;
}
const asked = (h: ServerHarness, name: string, deleteOptions: object = {}): Promise<unknown> => {
  const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { namespace: 'default', name }, deleteOptions };
  return h.admin.resource(Pods).createSubresource({ namespace: 'default', name }, 'eviction', body);
};
const evict = (h: ServerHarness, name: string, deleteOptions?: object): Promise<unknown> =>
  h.clock.drive(asked(h, name, deleteOptions));
/** '' where the eviction is granted. */
const answer = (eviction: Promise<unknown>): Promise<string> =>
  eviction.then(
    () => '',
    (error: unknown) => (error instanceof StatusError ? `${error.code} ${error.reason}` : String(error)),
  );
const allowed = async (h: ServerHarness): Promise<number | undefined> =>
  (await h.get(PodDisruptionBudgets, 'default/b')).status?.disruptionsAllowed;
const setStatus = (h: ServerHarness, name: string, status: NonNullable<Pod['status']>): Promise<Pod> =>
  h.update<Pod>(Pods, `default/${name}`, (draft) => void (draft.status = { ...draft.status, ...status }), 'status');
const unready = [{ type: 'Ready', status: 'False' }];
const FORBIDDEN = '429 TooManyRequests';

describe('an eviction', () => {
  const phases: [phase: string, answered: string][] = [
    ['Running', FORBIDDEN],
    ['Unknown', FORBIDDEN],
    ['Pending', ''],
    ['Succeeded', ''],
    ['Failed', ''],
  ];
  for (const [phase, answered] of phases)
    it(`of a pod that is ${phase} is ${answered === '' ? 'no matter for budgets' : 'forbidden where none may go'}`, async () => {
      const h = await start(2, { minAvailable: 2 });
      await setStatus(h, 'a', { phase });
      assert.equal(await answer(evict(h, 'a')), answered);
      await h.stop();
    });

  const policies: [policy: string | undefined, healthy: boolean, minAvailable: number, answered: string][] = [
    [undefined, true, 3, FORBIDDEN],
    [undefined, false, 3, FORBIDDEN],
    [undefined, false, 2, ''],
    [undefined, false, 0, ''],
    ['IfHealthyBudget', false, 3, FORBIDDEN],
    ['IfHealthyBudget', false, 2, ''],
    ['AlwaysAllow', false, 3, ''],
    ['AlwaysAllow', true, 3, FORBIDDEN],
  ];
  for (const [policy, healthy, minAvailable, answered] of policies)
    it(`of a pod that is ${healthy ? '' : 'not '}ready, ${minAvailable} of 3 needed, ${policy ?? 'no policy'}: ${answered || 'granted'}`, async () => {
      const h = await start(3, { minAvailable, ...(policy && { unhealthyPodEvictionPolicy: policy }) });
      if (!healthy) await setStatus(h, 'a', { conditions: unready });
      await h.clock.advance(1000);
      assert.equal(await answer(evict(h, 'a')), answered);
      await h.stop();
    });

  it('of a pod with a finalizer sets its condition, and counts for the budget', async () => {
    const h = await start(3, { minAvailable: 1 });
    await h.update(Pods, 'default/a', (draft) => void (draft.metadata.finalizers = ['test/hold']));
    assert.equal(await answer(evict(h, 'a')), '');
    const pod = await h.get<Pod>(Pods, 'default/a');
    assert.notEqual(pod.metadata.deletionTimestamp, undefined);
    const told = pod.status?.conditions?.find(({ type }) => type === 'DisruptionTarget');
    assert.deepEqual(
      [told?.status, told?.reason, told?.message],
      ['True', 'EvictionByEvictionAPI', 'Eviction API: evicting'],
    );
    await h.clock.advance(1000);
    assert.equal(await allowed(h), 1);
    assert.equal(await answer(evict(h, 'a')), '', 'again and again');
    await h.clock.advance(1000);
    assert.equal(await allowed(h), 1, 'at no further cost');
    await h.stop();
  });

  it('of another pod than is meant is a conflict', async () => {
    const h = await start(3, { minAvailable: 1 });
    const { uid, resourceVersion } = (await h.get<Pod>(Pods, 'default/a')).metadata;
    for (const preconditions of [{ uid: 'another' }, { resourceVersion: '1' }, { uid, resourceVersion: '1' }])
      assert.equal(await answer(evict(h, 'a', { preconditions })), '409 Conflict', JSON.stringify(preconditions));
    assert.equal((await h.get<Pod>(Pods, 'default/a')).metadata.deletionTimestamp, undefined);
    assert.equal(await answer(evict(h, 'a', { preconditions: { uid, resourceVersion } })), '');
    await h.stop();
  });

  it('is granted to as many pods at once as the budget allows', async () => {
    const h = await start(10, { minAvailable: 6 });
    assert.equal(await allowed(h), 4);
    const answers = await h.clock.drive(Promise.all([...'abcdefghij'].map((name) => answer(asked(h, name)))));
    assert.equal(answers.filter((one) => one === '').length, 4);
    assert.ok(
      answers.every((one) => one === '' || one === FORBIDDEN),
      answers.join(),
    );
    await h.stop();
  });
});

describe('a budget', () => {
  const selectors: [what: string, selector: object | undefined, expected: number][] = [
    ['that selects by labels', { matchLabels: labels }, 2],
    ['that selects all', {}, 3],
    ['that selects by what is absent', { matchExpressions: [{ key: 'app', operator: 'DoesNotExist' }] }, 1],
    ['that says nothing', undefined, 0],
  ];
  for (const [what, selector, expected] of selectors)
    it(`${what} counts ${expected} of three pods`, async () => {
      const h = await start(2, { minAvailable: 1 });
      await h.create(Pods, { metadata: { name: 'bare' }, spec: { containers: [{ name: 'c', image: 'i' }] } });
      await h.create(PodDisruptionBudgets, {
        metadata: { name: 's' },
        spec: { minAvailable: 1, ...(selector && { selector }) },
      });
      await h.run(1000);
      const { status } = await h.get(PodDisruptionBudgets, 'default/s');
      assert.deepEqual([status?.expectedPods, status?.currentHealthy], [expected, expected]);
      await h.stop();
    });
});
