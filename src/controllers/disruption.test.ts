import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Deployments, PodDisruptionBudgets, Pods } from '../api/gen/resources.ts';
import type { Pod } from '../api/gen/core-v1.ts';
import { formatTime } from '../api/time.ts';
import type { PodDisruptionBudget } from '../api/gen/policy-v1.ts';
import { createDeploymentController } from './deployment/deployment-controller.ts';
import { createDisruptionController } from './disruption/disruption-controller.ts';
import { replicaSetFlavour } from './replicaset/flavours.ts';
import { createReplicaController } from './replicaset/replicaset-controller.ts';
import { startServerHarness, type ServerHarness } from './server-harness-fixture.ts';

const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
async function start(spec: object, replicas = 4): Promise<ServerHarness> {
  const h = await startServerHarness([
    createDisruptionController,
    createDeploymentController,
    (deps) => createReplicaController(deps, replicaSetFlavour),
  ]);
  await h.create(Deployments, {
    metadata: { name: 'web' },
    spec: { replicas, selector: { matchLabels: { app: 'web' } }, template },
  });
  await h.create(PodDisruptionBudgets, {
    metadata: { name: 'b' },
    spec: { selector: { matchLabels: { app: 'web' } }, ...spec },
  });
  await h.run(500);
  return h;
}
const budget = (h: ServerHarness): Promise<PodDisruptionBudget> => h.get(PodDisruptionBudgets, 'default/b');
async function numbers(h: ServerHarness): Promise<(number | undefined)[]> {
  const { status } = await budget(h);
  return [status?.expectedPods, status?.desiredHealthy, status?.currentHealthy, status?.disruptionsAllowed];
}
const evict = (h: ServerHarness, pod: Pod | undefined, more: object = {}): Promise<unknown> => {
  const { namespace = '', name = '' } = pod?.metadata ?? {};
  const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { namespace, name }, ...more };
  return h.clock.drive(h.admin.resource(Pods).createSubresource({ namespace, name }, 'eviction', body));
};

describe('disruption', () => {
  const cases: [spec: object, expected: number[], condition: string][] = [
    [{ minAvailable: 3 }, [4, 3, 4, 1], 'SufficientPods'],
    [{ minAvailable: 4 }, [4, 4, 4, 0], 'InsufficientPods'],
    [{ minAvailable: '50%' }, [4, 2, 4, 2], 'SufficientPods'],
    [{ minAvailable: '60%' }, [4, 3, 4, 1], 'SufficientPods'],
    [{ maxUnavailable: 1 }, [4, 3, 4, 1], 'SufficientPods'],
    [{ maxUnavailable: '30%' }, [4, 2, 4, 2], 'SufficientPods'],
    [{ maxUnavailable: 0 }, [4, 4, 4, 0], 'InsufficientPods'],
  ];
  for (const [spec, expected, reason] of cases) {
    it(`counts ${JSON.stringify(spec)}`, async () => {
      const h = await start(spec);
      assert.deepEqual(await numbers(h), expected);
      const condition = (await budget(h)).status?.conditions?.[0];
      assert.deepEqual(
        [condition?.type, condition?.status, condition?.reason],
        ['DisruptionAllowed', reason === 'SufficientPods' ? 'True' : 'False', reason],
      );
      assert.match(condition?.message ?? '', /healthy/);
      await h.stop();
    });
  }

  it('grants evictions one after the other, as replacements become ready', async () => {
    const h = await start({ maxUnavailable: 1 });
    const [first, second] = await h.pods();
    await evict(h, first);
    const [spent] = (await budget(h)).status?.conditions ?? [];
    assert.deepEqual(
      [spent?.reason, spent?.message],
      ['InsufficientPods', 'no more pods are healthy than have to be'],
      'as the controller writes it',
    );
    await h.clock.advance(200);
    await assert.rejects(evict(h, second), /disruption budget/);
    await h.run(500);
    assert.deepEqual(await numbers(h), [4, 3, 4, 1]);
    await evict(h, second);
    await h.stop();
  });

  it('grants evictions of the pod that is meant, and of no other', async () => {
    const h = await start({ maxUnavailable: 2 });
    const [pod] = await h.pods();
    const { uid, resourceVersion } = pod!.metadata;
    const provided = (preconditions: object): object => ({ deleteOptions: { preconditions } });
    for (const preconditions of [{ uid: 'another' }, { resourceVersion: '1' }, { uid, resourceVersion: '1' }])
      await assert.rejects(evict(h, pod, provided(preconditions)), /in the precondition/);
    const { status } = await h.get(Pods, `default/${pod?.metadata.name}`);
    assert.ok(!status?.conditions?.some(({ type }) => type === 'DisruptionTarget'), 'left as it is');
    await evict(h, pod, provided({ uid, resourceVersion }));
    await h.stop();
  });

  it('accepts evictions in the versions of early clients, and refuses unknown ones', async () => {
    const h = await start({ maxUnavailable: 2 });
    const [pod] = await h.pods();
    const deleteOptions = { dryRun: ['All'] };
    for (const apiVersion of ['policy/v1', 'policy/v1beta1', ''])
      await evict(h, pod, { apiVersion, kind: apiVersion === '' ? '' : 'Eviction', deleteOptions });
    await assert.rejects(evict(h, pod, { apiVersion: 'policy/v2', deleteOptions }), /policy\/v2/);
    await h.stop();
  });

  it('warns of pods without owner where it needs their number', async () => {
    const h = await start({ maxUnavailable: 1 }, 0);
    await h.create(Pods, { metadata: { name: 'alone', labels: { app: 'web' } }, spec: template.spec });
    await h.run(500);
    assert.deepEqual(await numbers(h), [0, 0, 1, 0]);
    assert.ok(
      (await h.events()).some((event) =>
        event.startsWith('Warning UnmanagedPods Pods selected by this PodDisruptionBudget (selector: app=web)'),
      ),
    );
    await h.stop();
  });

  it('counts an evicted pod as there again when nothing deletes it', async () => {
    const h = await start({ minAvailable: 3 });
    const [pod] = await h.pods();
    const time = '2026-01-01T00:00:00Z';
    await h.update<PodDisruptionBudget>(
      PodDisruptionBudgets,
      'default/b',
      (draft) => void (draft.status = { ...draft.status!, disruptedPods: { [pod?.metadata.name ?? '']: time } }),
      'status',
    );
    await h.clock.advance(1000);
    assert.deepEqual(await numbers(h), [4, 3, 3, 0]);
    await h.clock.advance(130_000);
    assert.deepEqual(await numbers(h), [4, 3, 4, 1]);
    await h.stop();
  });

  const announced: [what: string, reason: string, phase: string, after: string][] = [
    [
      'is taken back',
      'PreemptionByScheduler',
      'Running',
      'False StalePodDisruption the pod was not deleted within two minutes',
    ],
    ['by the kubelet stays', 'TerminationByKubelet', 'Running', 'True TerminationByKubelet m'],
    ['of a pod that has ended stays', 'EvictionByEvictionAPI', 'Failed', 'True EvictionByEvictionAPI m'],
  ];
  for (const [what, reason, phase, after] of announced)
    it(`an announced deletion that does not happen ${what}, in two minutes`, async () => {
      const h = await start({ minAvailable: 3 });
      const [pod] = await h.pods();
      const key = `default/${pod?.metadata.name}`;
      const condition = { type: 'DisruptionTarget', status: 'True', reason, message: 'm' };
      await h.update(
        Pods,
        key,
        (draft) => {
          draft.status!.phase = phase;
          draft.status!.conditions = [
            ...(draft.status!.conditions ?? []),
            { ...condition, lastTransitionTime: formatTime(h.clock.nowMs()) },
          ];
        },
        'status',
      );
      const told = async (): Promise<string> => {
        const conditions = (await h.get(Pods, key)).status?.conditions ?? [];
        const target = conditions.find(({ type }) => type === 'DisruptionTarget');
        assert.ok(
          conditions.some(({ type }) => type === 'Ready'),
          'the others stay',
        );
        return [target?.status, target?.reason, target?.message].filter((part) => part !== undefined).join(' ');
      };
      await h.clock.advance(118_000);
      assert.equal(await told(), `True ${reason} m`);
      await h.clock.advance(4000);
      assert.equal(await told(), after);
      await h.stop();
    });

  it('writes nothing more once settled', async () => {
    const h = await start({ minAvailable: 3 });
    const before = h.writes();
    await h.clock.advance(3_600_000);
    assert.equal(h.writes(), before);
    await h.stop();
  });
});
