/** Devices that are made ready between their allocation and the binding of the pod, under virtual time. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Node, Pod } from '../../../api/gen/core-v1.ts';
import type { AllocatedDeviceStatus, Device, ResourceClaim } from '../../../api/gen/resource-v1.ts';
import { isReason } from '../../../api/status-error.ts';
import { stored } from '../../../api/stored-fixture.ts';
import type { Stored } from '../../../api/object.ts';
import type { Client } from '../../../client/client.ts';
import { VirtualClock } from '../../../platform/sim/virtual-clock.ts';
import { NodeInfo } from '../../cache/node-info.ts';
import { createSchedulerCache } from '../../cache/scheduler-cache.ts';
import type { Status } from '../../framework/status.ts';
import { testPluginDeps, testPod } from '../../scheduler-fixture.ts';
import type { DynamicResourcesArgs } from '../../config/plugin-args.ts';
import { deviceUseOf } from '../../devices/device-use.ts';
import { createDynamicResources } from './dynamic-resources.ts';

const DRIVER = 'fabric.example.com';
const node: Stored<Node> = stored({ metadata: { name: 'a' } });
const device: Device = {
  name: 'd',
  bindsToNode: true,
  bindingConditions: ['attached', 'powered'],
  bindingFailureConditions: ['broken'],
};

function set(devices: Device[] = [device], args?: DynamicResourcesArgs) {
  const clock = new VirtualClock();
  let version = 1;
  const claims = new Map<string, ResourceClaim>();
  /** Claims that the scheduler sees as they were; the others it sees as they are. */
  const stale = new Map<string, ResourceClaim>();
  const pods = new Map<string, Pod>();
  /** Resolves when writes that begin now get their answer. */
  const answers: { come: Promise<void> } = { come: Promise.resolve() };
  const add = (name: string): void => {
    claims.set(name, {
      metadata: { name, namespace: 'default', uid: `u-${name}`, resourceVersion: '1' },
      spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'any' } }] } },
    });
  };
  add('c');
  const update = (status: ResourceClaim['status'], name = 'c'): void => {
    const claim = claims.get(name)!;
    claims.set(name, { ...claim, metadata: { ...claim.metadata, resourceVersion: String(++version) }, status });
  };
  const seen = (name: string): ResourceClaim | undefined => stale.get(name) ?? claims.get(name);
  const client = {
    resource: () => ({
      async patch({ name }: { name: string }, { patch }: { patch: Partial<ResourceClaim> }) {
        const known = patch.metadata?.resourceVersion;
        const claim = claims.get(name)!;
        assert.ok(known === undefined || known === claim.metadata.resourceVersion, 'nobody else has written');
        const merged = Object.entries({ ...claim.status, ...patch.status }).filter(([, value]) => value !== null);
        update(Object.fromEntries(merged), name);
        const written = claims.get(name);
        await answers.come;
        return written;
      },
    }),
  } as unknown as Client;
  const waits: object[] = [];
  const plugin = createDynamicResources(
    {
      ...testPluginDeps({
        clock,
        pod: (_namespace, name) => pods.get(name),
        resourceClaim: (_namespace, name) => seen(name),
        deviceUse: () => deviceUseOf([...claims.keys()].map((name) => seen(name)!)),
        resourceSlices: () => [
          {
            metadata: { name: 's' },
            spec: {
              driver: DRIVER,
              pool: { name: 'p', generation: 1, resourceSliceCount: 1 },
              allNodes: true,
              devices,
            },
          },
        ],
        deviceClass: (name) => ({ metadata: { name }, spec: {} }),
      }),
      client,
      deviceMetrics: { claimCreated: () => undefined, waitedFor: (told) => waits.push(told) },
    },
    args,
  );
  const states = new Map<string, { state: Map<string, unknown>; pod: Stored<Pod> }>();
  const unreserve = (name: string): void => {
    const { state, pod } = states.get(name)!;
    plugin.unreserve?.(state, pod, 'a');
  };
  /** Schedules a pod up to its binding; the result is added to `verdicts`. */
  const schedule = async (name: string, wants = ['c']): Promise<(Status | undefined)[]> => {
    const resourceClaims = wants.map((resourceClaimName) => ({ name: resourceClaimName, resourceClaimName }));
    const pod = testPod(name, { spec: { resourceClaims } });
    pods.set(name, pod);
    const state = new Map<string, unknown>();
    states.set(name, { state, pod });
    assert.equal(plugin.preFilter?.(state, pod, createSchedulerCache().snapshot()), undefined);
    assert.equal(plugin.filter?.(state, pod, new NodeInfo(node)), undefined);
    plugin.reserve?.(state, pod, 'a');
    const verdicts: (Status | undefined)[] = [];
    const { signal } = new AbortController();
    void plugin.preBind?.(state, pod, { nodeName: 'a', signal }).then((verdict) => verdicts.push(verdict));
    await clock.settle();
    return verdicts;
  };
  const tellOf = (name: string, ...types: string[]): void => {
    const claim = claims.get(name)!;
    const [result] = claim.status?.allocation?.devices?.results ?? [];
    const time = '2026-01-01T00:00:00Z';
    const conditions = types.map((type) => ({
      type,
      status: 'True',
      reason: 'Told',
      message: 'as told',
      lastTransitionTime: time,
    }));
    const told: AllocatedDeviceStatus = { driver: DRIVER, pool: 'p', device: result!.device, conditions };
    update({ ...claim.status, devices: [told] }, name);
  };
  const tell = (...types: string[]): void => tellOf('c', ...types);
  return {
    clock,
    schedule,
    tell,
    tellOf,
    add,
    update,
    unreserve,
    stale,
    answers,
    pods,
    waits,
    claim: (name = 'c') => claims.get(name)!,
  };
}

describe('devices that are made ready', () => {
  test('are waited for, on the node they were allocated for', async () => {
    const { clock, schedule, tell, claim, waits } = set();
    const verdicts = await schedule('p');
    const allocation = claim().status?.allocation;
    assert.deepEqual(allocation?.devices?.results, [
      {
        request: 'r',
        driver: DRIVER,
        pool: 'p',
        device: 'd',
        bindingConditions: ['attached', 'powered'],
        bindingFailureConditions: ['broken'],
      },
    ]);
    assert.ok(allocation?.allocationTimestamp);
    assert.deepEqual(allocation?.nodeSelector?.nodeSelectorTerms[0]?.matchFields?.[0]?.values, ['a']);
    tell('attached');
    await clock.advance(60_000);
    assert.equal(verdicts.length, 0);
    tell('attached', 'powered');
    await clock.advance(1_000);
    assert.deepEqual(verdicts, [undefined]);
    assert.deepEqual(waits, [{ profile: 'default-scheduler', driver: DRIVER, status: 'success', seconds: 60.25 }]);
    assert.equal(clock.pendingTimers, 0);
  });

  test('are deallocated when they fail, and can be allocated again', async () => {
    const { clock, schedule, tell, claim, waits } = set();
    const verdicts = await schedule('p');
    tell('attached', 'broken');
    await clock.advance(1_000);
    assert.deepEqual(waits, [{ profile: 'default-scheduler', driver: DRIVER, status: 'failure', seconds: 0.25 }]);
    assert.deepEqual(verdicts[0]?.reasons, [
      `resourceclaim "c" cannot be bound: device ${DRIVER}/p/d: broken: as told`,
    ]);
    assert.deepEqual(claim().status, {});
    const second = await schedule('p');
    tell('attached', 'powered');
    await clock.advance(1_000);
    assert.deepEqual(second, [undefined]);
  });

  for (const [seconds, args] of [
    [600, undefined],
    [20, { filterTimeoutMs: 10_000, bindingTimeoutMs: 20_000 }],
  ] as const)
    test(`are deallocated when they take longer than ${seconds} s`, async () => {
      const { clock, schedule, claim, waits } = set([device], args);
      const verdicts = await schedule('p');
      await clock.advance((seconds - 1) * 1000);
      assert.equal(verdicts.length, 0);
      await clock.advance(2_000);
      const reason = `resourceclaim "c": devices were not ready for binding within ${seconds}s`;
      assert.deepEqual(verdicts[0]?.reasons, [reason]);
      assert.deepEqual(waits, [{ profile: 'default-scheduler', driver: DRIVER, status: 'timeout', seconds }]);
      assert.deepEqual(claim().status, {});
    });

  test('stay with other pods that use them', async () => {
    const { clock, schedule, tell, claim } = set();
    await schedule('p');
    const verdicts = await schedule('q');
    tell('broken');
    await clock.advance(1_000);
    assert.match(verdicts[0]?.reasons[0] ?? '', /broken/);
    assert.equal(claim().status?.reservedFor?.length, 2);
    assert.ok(claim().status?.allocation);
  });

  const leaving: [about: string, leave: (pods: Map<string, Pod>) => void][] = [
    ['is gone', (pods) => pods.delete('p')],
    ['is another one of its name', (pods) => pods.set('p', testPod('q'))],
    [
      'is being deleted',
      (pods) =>
        pods.set('p', {
          ...pods.get('p')!,
          metadata: { ...pods.get('p')!.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
        }),
    ],
  ];
  for (const [about, leave] of leaving)
    test(`are waited for no longer when the pod ${about}`, async () => {
      const { clock, schedule, pods } = set();
      const verdicts = await schedule('p');
      await clock.advance(1_000);
      assert.equal(verdicts.length, 0);
      leave(pods);
      await clock.advance(1_000);
      assert.ok(isReason(verdicts[0]?.cause, 'NotFound'), 'not to be tried again');
      assert.equal(clock.pendingTimers, 0);
    });

  test('are no longer awaited when they were deallocated, and not before the write is visible', async () => {
    const { clock, schedule, update, stale, claim } = set();
    stale.set('c', claim());
    const verdicts = await schedule('p');
    await clock.advance(10_000);
    assert.equal(verdicts.length, 0, 'the claim is seen as it was before');
    update({});
    stale.clear();
    await clock.advance(1_000);
    assert.deepEqual(verdicts[0]?.reasons, ['resourceclaim "c" cannot be bound: its devices were given back']);
    assert.equal((await schedule('q')).length, 0, 'it can be allocated again');
    assert.ok(claim().status?.allocation);
  });

  test('fail at once when those of another claim of the pod do', async () => {
    const { clock, schedule, tellOf, add, claim } = set([device, { ...device, name: 'e' }]);
    add('d');
    const verdicts = await schedule('p', ['c', 'd']);
    tellOf('d', 'broken');
    await clock.advance(1_000);
    assert.match(verdicts[0]?.reasons[0] ?? '', /^resourceclaim "d" cannot be bound: .*: broken: as told$/);
    assert.equal(claim('d').status?.allocation, undefined);
    assert.equal(clock.pendingTimers, 0);
  });

  test('are free for the next pod of the claim once the first is deleted, although no pod was scheduled meanwhile', async () => {
    const { schedule, tell, clock, update, claim } = set();
    const first = await schedule('p');
    tell('attached', 'powered');
    await clock.advance(1_000);
    assert.deepEqual(first, [undefined]);
    update({});
    await schedule('q');
    assert.deepEqual(
      claim().status?.reservedFor?.map(({ name }) => name),
      ['q'],
    );
  });

  test('stay with the cycle that has decided on them last', async () => {
    const { clock, schedule, tell, unreserve, claim, stale } = set();
    const first = await schedule('p');
    tell('broken');
    await clock.advance(1_000);
    assert.equal(first.length, 1);
    stale.set('c', claim());
    const second = schedule('q');
    unreserve('p');
    await second;
    // The write of q is not visible yet, but counts.
    await assert.rejects(schedule('r'), /is in the process of being allocated/);
  });

  test('stay with the pod that allocated them while the deallocation was delayed', async () => {
    const { clock, schedule, tell, claim, stale, answers } = set();
    const first = await schedule('p');
    tell('broken');
    const answer = Promise.withResolvers<void>();
    answers.come = answer.promise;
    await clock.advance(1_000);
    answers.come = Promise.resolve();
    assert.deepEqual([claim().status, first.length], [{}, 0]);
    stale.set('c', claim());
    await schedule('q');
    answer.resolve();
    await clock.settle();
    assert.match(first[0]?.reasons[0] ?? '', /broken/);
    await assert.rejects(schedule('r'), /is in the process of being allocated/);
  });

  test('are no matter for others', async () => {
    const { schedule, claim } = set([{ name: 'plain' }]);
    assert.deepEqual(await schedule('p'), [undefined]);
    assert.equal(claim().status?.allocation?.allocationTimestamp, undefined);
  });
});
