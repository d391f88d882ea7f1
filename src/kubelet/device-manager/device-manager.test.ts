/** Device plugins as pods and the node's status see them, through the whole kubelet. */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import type { Container } from '../../api/gen/core-v1.ts';
import { Nodes, Pods } from '../../api/gen/resources.ts';
import { createKubeletFixture, type KubeletFixture, type KubeletFixtureOptions } from '../fixtures/kubelet-fixture.ts';
import { writeDeviceCheckpoint } from './checkpoint.ts';
import { devicePluginTable } from './device-plugin-api.ts';
import { createFakeDevicePlugin, type FakeDevicePlugin } from './fake-device-plugin-fixture.ts';

const RESOURCE = 'example.com/gpu';
const CHECKPOINT = '/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint';
const running: KubeletFixture[] = [];

afterEach(async () => {
  for (const fixture of running.splice(0)) await fixture.stop();
});

async function started(options: KubeletFixtureOptions = {}): Promise<KubeletFixture> {
  const fixture = createKubeletFixture(options);
  running.push(fixture);
  await fixture.start();
  return fixture;
}

async function plugged(
  of: {
    devices?: readonly string[];
    prefers?: readonly string[];
    numa?: boolean;
    options?: KubeletFixtureOptions;
  } = {},
): Promise<{ fixture: KubeletFixture; plugin: FakeDevicePlugin }> {
  const fixture = await started(of.options);
  const plugin = createFakeDevicePlugin(fixture.sockets, {
    resource: RESOURCE,
    ...(of.prefers === undefined ? {} : { prefers: of.prefers }),
    ...(of.numa === undefined ? {} : { numa: of.numa }),
  });
  plugin.tell(...(of.devices ?? ['a', 'b']));
  await fixture.platform.clock.drive(plugin.register());
  await fixture.platform.clock.settle();
  return { fixture, plugin };
}

function container(count: number, name = 'app'): Container {
  const list = { [RESOURCE]: String(count) };
  return { name, image: 'image', resources: { limits: list, requests: list } };
}

function told(fixture: KubeletFixture): string {
  const { capacity, allocatable } = fixture.cluster.get(Nodes, { name: 'node-1' })?.status ?? {};
  return `${allocatable?.[RESOURCE]}/${capacity?.[RESOURCE]}`;
}

async function run(fixture: KubeletFixture, name: string, containers: Container[], more = {}): Promise<string> {
  fixture.addPod(name, { spec: { containers, restartPolicy: 'Never', ...more } });
  await fixture.platform.clock.advance(1_000);
  const status = fixture.pod(name)?.status;
  return [status?.phase, status?.reason, status?.message].filter((text) => text !== undefined).join(' ');
}

const given = (fixture: KubeletFixture, name: string, of: Container) =>
  fixture.platform.clock.drive(fixture.kubelet.core.containerDevices(fixture.pod(name)!, of));

describe('device plugins', () => {
  it('show in the node, by health, and go when the plugin stays away', async () => {
    const { fixture, plugin } = await plugged({ devices: ['a', 'b!'] });
    const { clock } = fixture.platform;
    assert.equal(told(fixture), '1/2');
    plugin.tell('a', 'b', 'c');
    await clock.settle();
    assert.equal(told(fixture), '3/3');
    plugin.stop();
    await clock.settle();
    assert.equal(told(fixture), '0/3');
    await clock.advance(6 * 60_000);
    assert.equal(told(fixture), '0/0');
  });

  it('refuse names that are no extended resource, and other versions', async () => {
    const fixture = await started();
    for (const name of ['cpu', 'kubernetes.io/x', 'a.kubernetes.io/x', 'bad name/x']) {
      const plugin = createFakeDevicePlugin(fixture.sockets, { resource: name });
      await assert.rejects(plugin.register(), new RegExp(`the ResourceName "${name}" is invalid`));
    }
  });

  it('give a container its devices with all that belongs to them, before each start', async () => {
    const { fixture, plugin } = await plugged();
    assert.equal(await run(fixture, 'web', [container(2)]), 'Running');
    assert.deepEqual(await given(fixture, 'web', container(2)), {
      devices: [{ containerPath: '/dev/fake', hostPath: '/dev/null', permissions: 'rw' }],
      mounts: [{ containerPath: '/fake', hostPath: '/tmp', readOnly: true }],
      environment: { DEVICES: 'a,b' },
      annotations: { 'example.com/devices': 'a,b' },
      cdiDevices: ['example.com/fake=a,b'],
    });
    assert.deepEqual(plugin.calls, ['Allocate a,b', 'PreStartContainer a,b']);
    assert.equal(await given(fixture, 'web', { name: 'app' }), undefined);
  });

  it('refuse a pod when none are left, and take one when a pod has ended', async () => {
    const { fixture } = await plugged();
    await run(fixture, 'first', [container(1, 'x'), container(1, 'y')]);
    const refused = await run(fixture, 'second', [container(1)]);
    assert.equal(
      refused,
      'Failed UnexpectedAdmissionError Pod was rejected: Allocate failed due to requested number of devices unavailable for example.com/gpu. Requested: 1, Available: 0, which is unexpected',
    );
    fixture.runtime.exit(fixture.pod('first')!.metadata.uid!, 'x', 0);
    fixture.runtime.exit(fixture.pod('first')!.metadata.uid!, 'y', 0);
    await fixture.platform.clock.advance(5_000);
    assert.equal(await run(fixture, 'third', [container(2)]), 'Running');
    fixture.cluster.put(Pods, {
      ...fixture.pod('third')!,
      metadata: {
        ...fixture.pod('third')!.metadata,
        deletionTimestamp: '2026-01-01T00:00:00Z',
        deletionGracePeriodSeconds: 0,
      },
    });
    await fixture.platform.clock.runUntil(() => fixture.pod('third') === undefined, 10_000);
    assert.equal(await run(fixture, 'fourth', [container(2)]), 'Running');
    // Deleted at once, while its container still stops: the scheduler has already given its devices to another pod.
    fixture.runtime.scripts.set('app', { stopMs: 5_000 });
    fixture.cluster.drop(Pods, { namespace: 'default', name: 'fourth' });
    assert.equal(await run(fixture, 'fifth', [container(2)]), 'Running');
  });

  it('pass an init container’s devices on to the containers after it', async () => {
    const { fixture, plugin } = await plugged();
    fixture.runtime.scripts.set('first', { exitAfterMs: 10 });
    assert.equal(await run(fixture, 'web', [container(2)], { initContainers: [container(1, 'first')] }), 'Running');
    assert.deepEqual(
      plugin.calls.filter((call) => call.startsWith('Allocate')),
      ['Allocate a', 'Allocate a,b'],
    );
  });

  it('ask the plugin for its preference, and report why it cannot answer', async () => {
    const { fixture, plugin } = await plugged({ devices: ['a', 'b', 'c'], prefers: ['c', 'b'] });
    await run(fixture, 'web', [container(2)]);
    assert.deepEqual(plugin.calls[0], 'Allocate c,b');
    plugin.failure = new Error('busy');
    assert.match(
      await run(fixture, 'other', [container(1)]),
      /^Failed UnexpectedAdmissionError .*Allocate failed due to busy/,
    );
  });

  it('report in the status of a pod the health of its devices', async () => {
    const { fixture, plugin } = await plugged();
    await run(fixture, 'web', [container(1)]);
    const health = () => fixture.pod('web')?.status?.containerStatuses?.[0]?.allocatedResourcesStatus;
    assert.deepEqual(health(), [{ name: RESOURCE, resources: [{ resourceID: 'a', health: 'Healthy' }] }]);
    plugin.tell('a!', 'b');
    await fixture.platform.clock.advance(100);
    assert.deepEqual(health()?.[0]?.resources?.[0], { resourceID: 'a', health: 'Unhealthy' });
  });

  it('stay with their pods over a restart of the kubelet, before their plugin is back', async () => {
    const { fixture, plugin } = await plugged();
    await run(fixture, 'web', [container(2)]);
    await fixture.stop();
    plugin.stop();
    const again = await started({ beside: fixture });
    const { clock } = again.platform;
    assert.equal(told(again), '0/0');
    assert.equal(again.summary('web'), 'Running true');
    plugin.tell('a', 'b');
    await clock.drive(plugin.register());
    await clock.settle();
    assert.equal(told(again), '2/2');
    assert.match(await run(again, 'other', [container(1)]), /Available: 0/);
    const path = CHECKPOINT;
    const kept = JSON.parse(await again.platform.files.readText(path));
    assert.deepEqual(kept.Data.PodDeviceEntries[0].DeviceIDs, { '-1': ['a', 'b'] });
    assert.deepEqual(kept.Data.RegisteredDevices, { [RESOURCE]: ['a', 'b'] });
  });

  it('a damaged checkpoint is logged and dropped', async () => {
    const { fixture, plugin } = await plugged();
    await fixture.stop();
    plugin.stop();
    const path = CHECKPOINT;
    await fixture.platform.files.writeFile(path, '{"Data":{},"Checksum":1}');
    await started({ beside: fixture });
    assert.ok(fixture.platform.log.entries.some((line) => JSON.stringify(line).includes('failing to read checkpoint')));
  });

  it('have their lists refused beyond a limit, and their devices are unhealthy until a shorter one comes', async () => {
    const { fixture, plugin } = await plugged();
    const { clock, log } = fixture.platform;
    const warnings = () => log.entries.filter((line) => JSON.stringify(line).includes('lists too many devices')).length;
    await run(fixture, 'web', [container(1)]);
    const many = Array.from({ length: 20_001 }, (_, at) => `d${at}`);
    for (const devices of [many, ['x'.repeat(6_000_000)], many]) {
      plugin.tell(...devices);
      await clock.advance(10_000);
      assert.equal(told(fixture), '0/2');
    }
    assert.equal(warnings(), 1);
    const health = () => fixture.pod('web')?.status?.containerStatuses?.[0]?.allocatedResourcesStatus;
    assert.equal(health()?.[0]?.resources?.[0]?.health, 'Unknown');
    assert.equal(fixture.summary('web'), 'Running true');
    plugin.tell(...many.slice(1));
    await clock.advance(10_000);
    assert.equal(told(fixture), '20000/20000');
  });

  it('have no more devices together than a node may have, and no more resources', async () => {
    const { fixture } = await plugged();
    const { clock, files } = fixture.platform;
    const devices = Array.from({ length: 20_000 }, (_, at) => `d${at}`);
    const register = async (resource: string): Promise<void> => {
      const plugin = createFakeDevicePlugin(fixture.sockets, { resource });
      plugin.tell(...devices);
      await clock.drive(plugin.register());
      await clock.advance(10_000);
    };
    for (let number = 0; number < 6; number++) await register(`example.com/r${number}`);
    const capacity = fixture.cluster.get(Nodes, { name: 'node-1' })?.status?.capacity ?? {};
    assert.deepEqual(
      [0, 3, 4, 5].map((number) => capacity[`example.com/r${number}`]),
      ['20000', '20000', '0', '0'],
    );
    await fixture.stop();
    const registered = Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`example.com/r${at}`, []]));
    await writeDeviceCheckpoint(files, CHECKPOINT, { entries: [], registered });
    const again = await started({ beside: fixture });
    const more = createFakeDevicePlugin(again.sockets, { resource: 'example.com/more' });
    await assert.rejects(
      again.platform.clock.drive(more.register()),
      /device plugins of this node have 1000 resources already/,
    );
  });

  it('that repeat their list cause no writes, and cost the kubelet a time that grows with the list', async () => {
    const { fixture, plugin } = await plugged();
    const { clock, files } = fixture.platform;
    const path = CHECKPOINT;
    await clock.advance(10_000);
    await files.remove(path);
    for (let round = 0; round < 5; round++) {
      plugin.tell('a', 'b');
      await clock.advance(1_000);
    }
    assert.equal(await files.exists(path), false);
    plugin.tell('a', 'b!');
    await clock.advance(1_000);
    assert.equal(await files.exists(path), true);

    let lists = 0;
    const socket = '/var/lib/kubelet/device-plugins/flood.sock';
    fixture.sockets.serve(socket, {
      GetDevicePluginOptions: () => ({}),
      async *ListAndWatch() {
        const devices = Array.from({ length: 10_000 }, (_, at) => ({ ID: String(at), health: 'Healthy' }));
        for (;;) yield { devices: [{ ID: String(lists++), health: 'Healthy' }, ...devices] };
      },
    });
    const request = { version: 'v1beta1', endpoint: 'flood.sock', resourceName: 'example.com/flood' };
    await clock.drive(
      fixture.sockets
        .connect('/var/lib/kubelet/device-plugins/kubelet.sock', [devicePluginTable])
        .unary({ service: 'v1beta1.Registration', method: 'Register' }, request, {}),
    );
    await clock.advance(20_000);
    assert.ok(lists > 10 && lists < 25, String(lists));
  });

  it('refuse settings of megabytes for one container', async () => {
    const { fixture, plugin } = await plugged();
    plugin.environment = { LONG: 'x'.repeat(600_000) };
    assert.match(
      await run(fixture, 'web', [container(1)]),
      /^Failed UnexpectedAdmissionError .*the allocation response is longer than 524288 characters/,
    );
  });

  it('that send device lists continuously are processed ten times a second, and nothing waits for them', async () => {
    const fixture = await started();
    let told = 0;
    const socket = '/var/lib/kubelet/device-plugins/flood.sock';
    fixture.sockets.serve(socket, {
      GetDevicePluginOptions: () => ({}),
      async *ListAndWatch() {
        for (;;) yield { devices: [{ ID: String(told++), health: 'Healthy' }] };
      },
    });
    const request = { version: 'v1beta1', endpoint: 'flood.sock', resourceName: 'example.com/flood' };
    await fixture.platform.clock.drive(
      fixture.sockets
        .connect('/var/lib/kubelet/device-plugins/kubelet.sock', [devicePluginTable])
        .unary({ service: 'v1beta1.Registration', method: 'Register' }, request, {}),
    );
    await fixture.platform.clock.advance(10_000);
    assert.ok(told > 50 && told < 130, String(told));
    assert.equal(await run(fixture, 'other', [{ name: 'app', image: 'image' }]), 'Running');
  });
});
