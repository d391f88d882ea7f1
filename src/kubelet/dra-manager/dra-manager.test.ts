/** Resource claims of pods, through the whole kubelet with a driver behind a fake socket. */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import type { Container } from '../../api/gen/core-v1.ts';
import type { ResourceClaim } from '../../api/gen/resource-v1.ts';
import { Nodes, Pods, ResourceClaims } from '../../api/gen/resources.ts';
import { createFakeDevicePlugin } from '../device-manager/fake-device-plugin-fixture.ts';
import { podResourcesTable } from '../pod-resources/pod-resources-api.ts';
import { createKubeletFixture, type KubeletFixture } from '../fixtures/kubelet-fixture.ts';

const DRIVER = 'gpu.example.com';
const REGISTRY = '/var/lib/kubelet/plugins_registry/gpu.sock';
const running: KubeletFixture[] = [];

afterEach(async () => {
  for (const fixture of running.splice(0)) await fixture.stop();
});

async function started(beside?: KubeletFixture): Promise<KubeletFixture> {
  const fixture = createKubeletFixture(beside === undefined ? {} : { beside });
  running.push(fixture);
  await fixture.start();
  return fixture;
}

interface FakeDriver {
  readonly calls: string[];
  failure: string;
}

type Claims = { claims: { uid: string; name: string }[] };

/** A driver whose claims have the devices `one` of request `a` and `two` of request `b`. */
async function plug(fixture: KubeletFixture, version = 'v1'): Promise<FakeDriver> {
  const it: FakeDriver = { calls: [], failure: '' };
  const answer = ({ claims }: Claims, of: (uid: string) => object): object => ({
    claims: Object.fromEntries(claims.map(({ uid }) => [uid, of(uid)])),
  });
  const device = (deviceName: string, request: string): object => ({
    deviceName,
    poolName: 'p',
    requestNames: [request],
    cdiDeviceIds: [`${DRIVER}/gpu=${deviceName}`],
  });
  fixture.sockets.serve('/gpu.sock', {
    NodePrepareResources(request: Claims) {
      it.calls.push(`prepare ${request.claims.map(({ name }) => name).join()}`);
      return answer(request, () =>
        it.failure === '' ? { devices: [device('one', 'a'), device('two', 'b/first')] } : { error: it.failure },
      );
    },
    NodeUnprepareResources(request: Claims) {
      it.calls.push(`unprepare ${request.claims.map(({ name }) => name).join()}`);
      return answer(request, () => ({}));
    },
  });
  fixture.sockets.serve(REGISTRY, {
    GetInfo: () => ({
      type: 'DRAPlugin',
      name: DRIVER,
      endpoint: '/gpu.sock',
      supportedVersions: [`${version}.DRAPlugin`],
    }),
    NotifyRegistrationStatus: () => ({}),
  });
  await fixture.platform.files.remove(REGISTRY);
  fixture.platform.files.makeSpecial(REGISTRY, 'socket');
  await fixture.platform.clock.advance(100);
  return it;
}

function putClaim(fixture: KubeletFixture, reservedFor: readonly string[], status: ResourceClaim['status'] = {}): void {
  const results = [{ request: 'a', driver: DRIVER, pool: 'p', device: 'one' }];
  fixture.cluster.put(ResourceClaims, {
    apiVersion: 'resource.k8s.io/v1',
    kind: 'ResourceClaim',
    metadata: { namespace: 'default', name: 'card', uid: 'claim-1' },
    spec: {},
    status: {
      allocation: { devices: { results } },
      reservedFor: reservedFor.map((uid) => ({ resource: 'pods', name: uid, uid })),
      ...status,
    },
  });
}

const container = (request?: string): Container => ({
  name: 'app',
  image: 'image',
  resources: { claims: [{ name: 'gpu', ...(request === undefined ? {} : { request }) }] },
});

async function addPod(fixture: KubeletFixture, name: string): Promise<string> {
  const spec = { containers: [container()], resourceClaims: [{ name: 'gpu', resourceClaimName: 'card' }] };
  const { metadata } = fixture.addPod(name, { metadata: { uid: `uid-${name}` }, spec });
  await fixture.platform.clock.advance(2_000);
  return metadata.uid!;
}

const cdi = async (fixture: KubeletFixture, name: string, request?: string) =>
  (await fixture.platform.clock.drive(fixture.kubelet.core.containerDevices(fixture.pod(name)!, container(request))))
    ?.cdiDevices;

async function remove(fixture: KubeletFixture, name: string): Promise<void> {
  fixture.cluster.drop(Pods, { namespace: 'default', name });
  await fixture.platform.clock.advance(5_000);
}

describe('resource claims', () => {
  it('are prepared once, given to containers by request, and unprepared with their last pod', async () => {
    const fixture = await started();
    const { calls } = await plug(fixture);
    putClaim(fixture, ['uid-web', 'uid-other']);
    await addPod(fixture, 'web');
    assert.equal(fixture.summary('web'), 'Running true', fixture.events.join('\n'));
    assert.deepEqual(await cdi(fixture, 'web'), [`${DRIVER}/gpu=one`, `${DRIVER}/gpu=two`]);
    assert.deepEqual(await cdi(fixture, 'web', 'a'), [`${DRIVER}/gpu=one`]);
    assert.deepEqual(await cdi(fixture, 'web', 'b'), [`${DRIVER}/gpu=two`]);
    await addPod(fixture, 'other');
    await remove(fixture, 'web');
    assert.deepEqual(calls, ['prepare card']);
    const caller = fixture.sockets.connect('/var/lib/kubelet/pod-resources/kubelet.sock', [podResourcesTable]);
    const list = (await caller.unary({ service: 'v1.PodResourcesLister', method: 'List' }, {}, {})) as {
      podResources: { containers: { dynamicResources: { claimName: string; claimResources: object[] }[] }[] }[];
    };
    const [claim] = list.podResources[0]!.containers[0]!.dynamicResources;
    assert.equal(claim?.claimName, 'card');
    assert.deepEqual(claim?.claimResources[0], {
      cdiDevices: [{ name: `${DRIVER}/gpu=one` }],
      driverName: DRIVER,
      poolName: 'p',
      deviceName: 'one',
    });
    await remove(fixture, 'other');
    assert.deepEqual(calls, ['prepare card', 'unprepare card']);
  });

  const goneForMs: [what: string, ms: number | undefined][] = [
    ['that nobody else ever had', undefined],
    ['whose device plugin has just gone', 0],
    ['whose device plugin is long gone', 6 * 60_000],
  ];
  for (const [what, ms] of goneForMs)
    it(`stand for extended resources ${what}: each container gets the devices of its requests`, async () => {
      const fixture = await started();
      const { calls } = await plug(fixture);
      if (ms !== undefined) {
        const plugin = createFakeDevicePlugin(fixture.sockets, { resource: 'example.com/gpu' });
        plugin.tell('old');
        await fixture.platform.clock.drive(plugin.register());
        await fixture.platform.clock.settle();
        plugin.stop();
        await fixture.platform.clock.settle();
        await fixture.platform.clock.advance(ms);
        assert.equal(fixture.cluster.get(Nodes, { name: 'node-1' })?.status?.allocatable?.['example.com/gpu'], '0');
      }
      putClaim(fixture, ['uid-web']);
      const gpu = { 'example.com/gpu': '1' };
      const app: Container = { name: 'app', image: 'image', resources: { limits: gpu, requests: gpu } };
      const extendedResourceClaimStatus = {
        resourceClaimName: 'card',
        requestMappings: [{ containerName: 'app', resourceName: 'example.com/gpu', requestName: 'a' }],
      };
      const spec = { containers: [app] };
      fixture.addPod('web', { metadata: { uid: 'uid-web' }, spec, status: { extendedResourceClaimStatus } });
      await fixture.platform.clock.advance(2_000);
      assert.equal(fixture.summary('web'), 'Running true', fixture.events.join('\n'));
      const pod = fixture.pod('web')!;
      assert.deepEqual(pod.status?.extendedResourceClaimStatus, extendedResourceClaimStatus);
      const devices = async (of: Container): Promise<readonly string[] | undefined> =>
        (await fixture.platform.clock.drive(fixture.kubelet.core.containerDevices(pod, of)))?.cdiDevices;
      assert.deepEqual(await devices(app), [`${DRIVER}/gpu=one`]);
      assert.deepEqual(await devices({ name: 'other' }), undefined);
      await remove(fixture, 'web');
      assert.deepEqual(calls, ['prepare card', 'unprepare card']);
    });

  it('hold a pod back, with the reason, until they are ready', async () => {
    const fixture = await started();
    putClaim(fixture, []);
    await addPod(fixture, 'web');
    const last = (): string => fixture.events.filter((event) => event.includes('DynamicResources')).at(-1) ?? '';
    const retry = () => fixture.platform.clock.advance(60_000);
    assert.match(
      last(),
      /Failed to prepare dynamic resources: pod web\(uid-web\) is not allowed to use resource claim card\(claim-1\)/,
    );
    putClaim(fixture, ['uid-web'], { allocation: undefined } as never);
    await retry();
    assert.match(last(), /ResourceClaim default\/card is not allocated/);
    putClaim(fixture, ['uid-web']);
    await retry();
    assert.match(last(), /DRA driver gpu.example.com is not registered/);
    const it = await plug(fixture, 'v1beta1');
    it.failure = 'too hot';
    await retry();
    assert.match(last(), /NodePrepareResources failed for ResourceClaim default\/card: too hot/);
    it.failure = '';
    await retry();
    assert.equal(fixture.summary('web'), 'Running true');
  });

  it('are remembered over a restart, and unprepared when their pod was deleted meanwhile', async () => {
    const fixture = await started();
    const { calls } = await plug(fixture);
    putClaim(fixture, ['uid-web']);
    await addPod(fixture, 'web');
    await fixture.stop();
    fixture.cluster.drop(Pods, { namespace: 'default', name: 'web' });
    const again = await started(fixture);
    await again.platform.clock.advance(130_000);
    assert.deepEqual(calls, ['prepare card', 'unprepare card']);
  });

  it('are not prepared again by a later kubelet while their pod runs, but known to it', async () => {
    const fixture = await started();
    const { calls } = await plug(fixture);
    putClaim(fixture, ['uid-web']);
    await addPod(fixture, 'web');
    await fixture.stop();
    const again = await started(fixture);
    await again.platform.clock.advance(30_000);
    assert.deepEqual(calls, ['prepare card']);
    assert.deepEqual(await cdi(again, 'web'), [`${DRIVER}/gpu=one`, `${DRIVER}/gpu=two`]);
  });
});
