/** Taints of devices against a real API server in memory. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DeviceTaint, DeviceToleration, ResourceSlice } from '../../api/gen/resource-v1.ts';
import type { DeviceTaintRule } from '../../api/gen/resource-v1beta2.ts';
import { DeviceTaintRules, Events, Pods, ResourceClaims, ResourceSlices } from '../../api/gen/resources.ts';
import { createDeviceTaintEvictionController, deviceTaints } from './device-taint-eviction-controller.ts';
import { deviceToleratedMs } from './device-tolerations.ts';
import { ruleCondition, type RuleCounts } from './rule-status.ts';
import { startServerHarness } from '../server-harness-fixture.ts';

const DRIVER = 'gpu.example.com';
const broken: DeviceTaint = { key: 'broken', effect: 'NoExecute' };

function sliceOf(taints: DeviceTaint[], generation = 1): ResourceSlice {
  const pool = { name: 'p', generation, resourceSliceCount: 1 };
  return {
    metadata: { name: `s-${generation}` },
    spec: {
      driver: DRIVER,
      pool,
      nodeName: 'n',
      devices: [
        { name: 'd', taints },
        { name: 'other', taints: [broken] },
      ],
    },
  };
}

describe('taints of devices', () => {
  it("are those of the pool's newest generation that evict", () => {
    const keep: DeviceTaint = { key: 'keep', effect: 'NoSchedule' };
    assert.deepEqual(deviceTaints([sliceOf([broken]), sliceOf([keep], 2)], 'd'), []);
    assert.deepEqual(deviceTaints([sliceOf([broken, keep], 2), sliceOf([], 1)], 'd'), [broken]);
  });

  const cases: [string, DeviceToleration[], number][] = [
    ['not at all', [], 0],
    ['not by another key', [{ key: 'other', operator: 'Exists' }], 0],
    ['not against another effect', [{ key: 'broken', operator: 'Exists', effect: 'NoSchedule' }], 0],
    ['for ever', [{ operator: 'Exists' }], Number.POSITIVE_INFINITY],
    ['for a while', [{ key: 'broken', operator: 'Exists', tolerationSeconds: 30 }], 30_000],
  ];
  for (const [about, tolerations, expected] of cases)
    it(`are tolerated ${about}`, () =>
      assert.equal(
        deviceToleratedMs({ driver: DRIVER, pool: 'p', device: 'd', request: 'r', tolerations }, broken),
        expected,
      ));

  /** A pod for each list of tolerations, with a claim on device d; `left` returns the remaining pods. */
  async function start(...tolerations: DeviceToleration[][]) {
    const h = await startServerHarness([createDeviceTaintEvictionController]);
    const slice = await h.create(ResourceSlices, sliceOf([]));
    for (const [index, list] of tolerations.entries()) {
      const name = `p${index}`;
      const spec = { nodeName: 'n', containers: [{ name: 'app', image: 'i' }], terminationGracePeriodSeconds: 0 };
      const pod = await h.create(Pods, { metadata: { namespace: 'default', name }, spec });
      const requests = [{ name: 'r', exactly: { deviceClassName: 'c' } }];
      await h.create(ResourceClaims, { metadata: { namespace: 'default', name }, spec: { devices: { requests } } });
      const reservedFor = [{ resource: 'pods', name, uid: pod.metadata.uid! }];
      const result = { driver: DRIVER, pool: 'p', device: 'd', request: 'r', tolerations: list };
      const status = { allocation: { devices: { results: [result] } }, reservedFor };
      await h.update(ResourceClaims, `default/${name}`, (draft) => void (draft.status = status), 'status');
    }
    const taint = (taints: DeviceTaint[]) =>
      h.update(ResourceSlices, slice.metadata.name!, (draft) => void (draft.spec = sliceOf(taints).spec));
    const left = async (): Promise<string[]> => (await h.list(Pods)).map(({ metadata }) => metadata.name!).toSorted();
    return { h, taint, left };
  }

  it('evict pods that do not bear them, at once or in time', async () => {
    const forAWhile = { key: 'broken', operator: 'Exists', tolerationSeconds: 60 };
    const { h, taint, left } = await start([], [forAWhile], [{ operator: 'Exists' }]);
    await h.clock.advance(1_000);
    assert.deepEqual(await left(), ['p0', 'p1', 'p2']);
    await taint([broken]);
    await h.clock.advance(1_000);
    assert.deepEqual(await left(), ['p1', 'p2']);
    await h.clock.advance(60_000);
    assert.deepEqual(await left(), ['p2']);
    const events = (await h.list(Events)).map(({ reason, message }) => `${reason}: ${message}`);
    assert.ok(events.includes('DeviceTaintManagerEviction: Marking for deletion Pod default/p0'), events.join('\n'));
    await h.stop();
  });

  it('are tolerated from their timeAdded, whoever added them', async () => {
    const { h, taint, left } = await start([{ operator: 'Exists', tolerationSeconds: 60 }]);
    await taint([broken]);
    await h.clock.advance(40_000);
    await h.startAgain();
    await h.clock.advance(19_000);
    assert.deepEqual(await left(), ['p0']);
    await h.clock.advance(2_000);
    assert.deepEqual(await left(), []);
    await h.stop();
  });

  it('evict no pod when they are removed in time', async () => {
    const { h, taint, left } = await start([{ operator: 'Exists', tolerationSeconds: 60 }]);
    await taint([broken]);
    await h.clock.advance(30_000);
    await taint([]);
    await h.clock.advance(600_000);
    assert.deepEqual(await left(), ['p0']);
    const events = (await h.list(Events)).map(({ message }) => message);
    assert.deepEqual(events, ['Cancelling deletion of Pod default/p0']);
    await h.stop();
  });

  const selectD = { driver: DRIVER, pool: 'p', device: 'd' };
  const ruleOf = (effect: string, deviceSelector: object = selectD) => ({
    metadata: { name: 'r' },
    spec: { deviceSelector, taint: { key: 'broken', effect } },
  });
  const conditionOf = async (h: { get: (info: typeof DeviceTaintRules, key: string) => Promise<DeviceTaintRule> }) => {
    const [condition] = (await h.get(DeviceTaintRules, 'r')).status?.conditions ?? [];
    return [condition?.type, condition?.status, condition?.reason, condition?.message];
  };
  const NOT_BORNE: DeviceToleration[] = [];
  const FOREVER: DeviceToleration[] = [{ operator: 'Exists' }];
  const AWHILE: DeviceToleration[] = [{ key: 'broken', operator: 'Exists', tolerationSeconds: 60 }];

  it('of rules evict pods, and the status of the rule has their number', async () => {
    const { h, left } = await start(NOT_BORNE, AWHILE, FOREVER);
    await h.create(DeviceTaintRules, ruleOf('NoExecute'));
    await h.clock.advance(1_000);
    assert.deepEqual(await left(), ['p1', 'p2']);
    await h.clock.advance(20_000);
    assert.deepEqual(await conditionOf(h), [
      'EvictionInProgress',
      'True',
      'PodsPendingEviction',
      '1 pod needs to be evicted in 1 namespace. 1 pod evicted since starting the controller.',
    ]);
    await h.clock.advance(60_000);
    assert.deepEqual(await left(), ['p2']);
    assert.deepEqual(await conditionOf(h), [
      'EvictionInProgress',
      'False',
      'Completed',
      '2 pods evicted since starting the controller.',
    ]);
    const before = h.writes();
    await h.startAgain();
    await h.clock.advance(60_000);
    assert.equal(h.writes(), before, 'a controller that starts now has nothing to add');
    await h.stop();
  });

  it('of a rule with effect None only set its status; with NoSchedule not even that', async () => {
    const { h, left } = await start(NOT_BORNE, AWHILE, FOREVER);
    await h.create(DeviceTaintRules, ruleOf('None', { driver: DRIVER }));
    await h.clock.advance(60_000);
    assert.deepEqual(await conditionOf(h), [
      'EvictionInProgress',
      'False',
      'NoEffect',
      '2 published devices selected. 3 allocated devices selected. 2 pods would be evicted in 1 namespace if the effect was NoExecute. This information will not be updated again. Recreate the DeviceTaintRule to trigger an update.',
    ]);
    assert.equal((await left()).length, 3);
    await h.update(DeviceTaintRules, 'r', (draft) => void (draft.spec.taint.effect = 'NoSchedule'));
    await h.clock.advance(60_000);
    assert.deepEqual((await conditionOf(h)).slice(2), [
      'OtherEffect',
      'Eviction only happens for the NoExecute effect.',
    ]);
    await h.update(DeviceTaintRules, 'r', (draft) => void (draft.spec.taint.effect = 'NoExecute'));
    await h.clock.advance(1_000);
    assert.deepEqual(await left(), ['p1', 'p2']);
    await h.stop();
  });

  it('of a rule are reported until the last pod is gone, beside conditions of others', async () => {
    const { h } = await start(AWHILE);
    await h.create(DeviceTaintRules, ruleOf('NoExecute'));
    await h.clock.advance(25_000);
    assert.equal((await conditionOf(h))[2], 'PodsPendingEviction');
    const other = {
      type: 'Other',
      status: 'True',
      reason: 'R',
      message: '',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    await h.update(
      DeviceTaintRules,
      'r',
      (draft) => void (draft.status = { conditions: [...(draft.status?.conditions ?? []), other] }),
      'status',
    );
    await h.remove(Pods, 'default/p0');
    await h.clock.advance(25_000);
    const { conditions = [] } = (await h.get(DeviceTaintRules, 'r')).status ?? {};
    assert.deepEqual(
      conditions.map(({ type, status, reason }) => [type, status, reason].join(' ')),
      ['Other True R', 'EvictionInProgress False NotStarted'],
    );
    await h.stop();
  });

  it('of a rule are reported without removing simultaneous conditions of others', async () => {
    const h = await startServerHarness([]);
    const other = {
      type: 'Other',
      status: 'True',
      reason: 'R',
      message: '',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    let writes = 0;
    h.startThrough({
      factories: [createDeviceTaintEvictionController],
      through: (server) => async (request) => {
        if (request.method === 'PATCH' && request.path.endsWith('/devicetaintrules/r/status') && ++writes === 1)
          await h.admin
            .resource(DeviceTaintRules)
            .patch(
              { name: 'r' },
              { type: 'merge', patch: { status: { conditions: [other] } } },
              { subresource: 'status' },
            );
        return await server(request);
      },
    });
    await h.create(DeviceTaintRules, ruleOf('NoExecute'));
    await h.clock.advance(30_000);
    const { conditions = [] } = (await h.get(DeviceTaintRules, 'r')).status ?? {};
    assert.deepEqual(conditions.map(({ type }) => type).sort(), ['EvictionInProgress', 'Other']);
    assert.equal(writes, 2, 'refused, and written again');
    await h.stop();
  });

  it('of a rule that is deleted in time evict no pod', async () => {
    const { h, left } = await start(AWHILE);
    await h.create(DeviceTaintRules, ruleOf('NoExecute'));
    await h.clock.advance(30_000);
    await h.remove(DeviceTaintRules, 'r');
    await h.clock.advance(600_000);
    assert.deepEqual(await left(), ['p0']);
    await h.stop();
  });

  const none: RuleCounts = { pods: 0, namespaces: 0, published: 0, allocated: 0, evicted: 0 };
  const conditions: [effect: string, counts: Partial<RuleCounts>, reason: string, message: string][] = [
    ['NoExecute', {}, 'NotStarted', 'No pod needs to be evicted.'],
    [
      'NoExecute',
      { pods: 2, namespaces: 2 },
      'PodsPendingEviction',
      '2 pods need to be evicted in 2 different namespaces.',
    ],
    ['NoExecute', { evicted: 1 }, 'Completed', '1 pod evicted since starting the controller.'],
    ['Else', {}, 'OtherEffect', 'Eviction only happens for the NoExecute effect.'],
  ];
  for (const [effect, counts, reason, message] of conditions)
    it(`a rule of ${effect} with ${JSON.stringify(counts)} has the reason ${reason}`, () => {
      const said = ruleCondition(ruleOf(effect), { ...none, ...counts });
      assert.deepEqual([said.reason, said.message], [reason, message]);
    });
});
