/** Devices that are made ready between their allocation and the binding of the pod, under virtual time. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Node } from '../../../api/gen/core-v1.ts';
import type { AllocatedDeviceStatus, Device, ResourceClaim } from '../../../api/gen/resource-v1.ts';
import type { Client } from '../../../client/client.ts';
import { VirtualClock } from '../../../platform/sim/virtual-clock.ts';
import { NodeInfo } from '../../cache/node-info.ts';
import { createSchedulerCache } from '../../cache/scheduler-cache.ts';
import type { Status } from '../../framework/status.ts';
import { testPluginDeps, testPod } from '../../scheduler-fixture.ts';
import { createDynamicResources } from './dynamic-resources.ts';

const driver = 'fabric.example.com';
const node: Node = { metadata: { name: 'a' } };
const device: Device = {
  name: 'd',
  bindsToNode: true,
  bindingConditions: ['attached', 'powered'],
  bindingFailureConditions: ['broken'],
};

function set(devices: Device[] = [device]) {
  const clock = new VirtualClock();
  let version = 1;
  let claim: ResourceClaim = {
    metadata: { name: 'c', namespace: 'default', uid: 'u', resourceVersion: '1' },
    spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'any' } }] } },
  };
  const update = (status: ResourceClaim['status']): void => {
    claim = { ...claim, metadata: { ...claim.metadata, resourceVersion: String(++version) }, status };
  };
  const client = {
    resource: () => ({
      async patch(_key: object, { patch }: { patch: Partial<ResourceClaim> }) {
        const known = patch.metadata?.resourceVersion;
        assert.ok(known === undefined || known === claim.metadata.resourceVersion, 'nobody else has written');
        const merged = Object.entries({ ...claim.status, ...patch.status }).filter(([, value]) => value !== null);
        update(Object.fromEntries(merged));
        return claim;
      },
    }),
  } as unknown as Client;
  const plugin = createDynamicResources({
    ...testPluginDeps({
      clock,
      resourceClaim: () => claim,
      resourceClaims: () => [claim],
      resourceSlices: () => [
        {
          metadata: { name: 's' },
          spec: { driver, pool: { name: 'p', generation: 1, resourceSliceCount: 1 }, allNodes: true, devices },
        },
      ],
      deviceClass: (name) => ({ metadata: { name }, spec: {} }),
    }),
    client,
  });
  /** Takes a pod up to its binding; what came of it appears in `verdicts`. */
  const schedule = async (name: string): Promise<(Status | undefined)[]> => {
    const pod = testPod(name, { spec: { resourceClaims: [{ name: 'card', resourceClaimName: 'c' }] } });
    const state = new Map<string, unknown>();
    assert.equal(plugin.preFilter?.(state, pod, createSchedulerCache().snapshot()), undefined);
    assert.equal(plugin.filter?.(state, pod, new NodeInfo(node)), undefined);
    plugin.reserve?.(state, pod, 'a');
    const verdicts: (Status | undefined)[] = [];
    const { signal } = new AbortController();
    void plugin.preBind?.(state, pod, { nodeName: 'a', signal }).then((verdict) => verdicts.push(verdict));
    await clock.settle();
    return verdicts;
  };
  const tell = (...types: string[]): void => {
    const [result] = claim.status?.allocation?.devices?.results ?? [];
    const time = '2026-01-01T00:00:00Z';
    const conditions = types.map((type) => ({
      type,
      status: 'True',
      reason: 'Told',
      message: 'as told',
      lastTransitionTime: time,
    }));
    const told: AllocatedDeviceStatus = { driver, pool: 'p', device: result!.device, conditions };
    update({ ...claim.status, devices: [told] });
  };
  return { clock, schedule, tell, claim: () => claim };
}

describe('devices that are made ready', () => {
  test('are waited for, on the node they were allocated for', async () => {
    const { clock, schedule, tell, claim } = set();
    const verdicts = await schedule('p');
    const allocation = claim().status?.allocation;
    assert.deepEqual(allocation?.devices?.results, [
      {
        request: 'r',
        driver,
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
    assert.equal(clock.pendingTimers, 0);
  });

  test('are given back when they fail, and can be allocated again', async () => {
    const { clock, schedule, tell, claim } = set();
    const verdicts = await schedule('p');
    tell('attached', 'broken');
    await clock.advance(1_000);
    assert.deepEqual(verdicts[0]?.reasons, [
      `resourceclaim "c" cannot be bound: device ${driver}/p/d: broken: as told`,
    ]);
    assert.deepEqual(claim().status, {});
    const second = await schedule('p');
    tell('attached', 'powered');
    await clock.advance(1_000);
    assert.deepEqual(second, [undefined]);
  });

  test('are given back when they take too long', async () => {
    const { clock, schedule, claim } = set();
    const verdicts = await schedule('p');
    await clock.advance(599_000);
    assert.equal(verdicts.length, 0);
    await clock.advance(2_000);
    assert.deepEqual(verdicts[0]?.reasons, ['resourceclaim "c": devices were not ready for binding within 600s']);
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

  test('are no matter for others', async () => {
    const { schedule, claim } = set([{ name: 'plain' }]);
    assert.deepEqual(await schedule('p'), [undefined]);
    assert.equal(claim().status?.allocation?.allocationTimestamp, undefined);
  });
});
