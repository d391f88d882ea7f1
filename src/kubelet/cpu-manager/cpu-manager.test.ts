/** Processors, memory and devices of containers, through the whole kubelet on a machine with two NUMA nodes. */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import type { Container } from '../../api/gen/core-v1.ts';
import { createSimPlatform, type SimPlatform } from '../../platform/sim/sim-platform.ts';
import { createFakeDevicePlugin } from '../device-manager/fake-device-plugin-fixture.ts';
import { createKubeletFixture, type KubeletFixture } from '../fixtures/kubelet-fixture.ts';
import type { KubeletConfiguration } from '../kubelet-configuration.ts';
import { KUBELET_DEFAULTS } from '../kubelet-defaults.ts';
import { podResourcesTable } from '../pod-resources/pod-resources-api.ts';

const GI = 2 ** 30;
const running: KubeletFixture[] = [];

afterEach(async () => {
  for (const fixture of running.splice(0)) await fixture.stop();
});

/** Eight processors, two threads each core: node 0 has 0-1 and 4-5, node 1 the others. */
function machine(): SimPlatform {
  const platform = createSimPlatform({ host: { cpuCount: 8, memoryBytes: 8 * GI } });
  platform.host.shape = {
    cpus: Array.from({ length: 8 }, (_, cpu) => {
      const socket = Math.floor((cpu % 4) / 2);
      return { cpu, core: cpu % 2, socket, node: socket };
    }),
    nodes: [0, 1].map((node) => ({ node, memoryBytes: 4 * GI, hugePages: [] })),
  };
  return platform;
}

async function started(config: Partial<KubeletConfiguration> = {}, beside?: KubeletFixture): Promise<KubeletFixture> {
  const fixture = createKubeletFixture({
    ...(beside === undefined ? { platform: machine() } : { beside }),
    config: {
      cpuManager: { ...KUBELET_DEFAULTS.cpuManager, policy: 'static', reservedCpus: '0' },
      systemReserved: { cpu: '1' },
      ...config,
    },
  });
  running.push(fixture);
  await fixture.start();
  return fixture;
}

function container(cpu: string, more: Record<string, string> = {}, name = 'app'): Container {
  const list = { cpu, memory: '1Gi', ...more };
  return { name, image: 'image', resources: { limits: list, requests: list } };
}

/** Runs a pod; resolves to the CPUs of its containers, or the reason of its refusal. */
async function run(fixture: KubeletFixture, name: string, containers: Container[], more = {}): Promise<string> {
  const qosClass = containers[0]?.resources === undefined ? 'BestEffort' : 'Guaranteed';
  fixture.addPod(name, { qosClass, spec: { containers, restartPolicy: 'Never', ...more } });
  await fixture.platform.clock.advance(1_000);
  const status = fixture.pod(name)?.status;
  if (status?.phase !== 'Running') return [status?.phase, status?.reason, status?.message].join(' ');
  return bound(fixture, name, containers);
}

async function bound(fixture: KubeletFixture, name: string, containers: readonly Container[]): Promise<string> {
  const found: string[] = [];
  for (const each of containers) {
    const made = await fixture.kubelet.core.containerDevices(fixture.pod(name)!, each);
    found.push([made?.cpusetCpus, made?.cpusetMems].filter((text) => text !== undefined).join(' on '));
  }
  return found.join('; ');
}

const moves = (fixture: KubeletFixture): string[] => fixture.runtime.calls.filter((call) => call.startsWith('cpus'));

describe('the static policy for processors', () => {
  it('assigns whole CPUs to guaranteed pods only, and moves all others off them', async () => {
    const fixture = await started();
    assert.equal(await run(fixture, 'shared', [{ name: 'app', image: 'image' }]), '0-7');
    assert.equal(await run(fixture, 'alone', [container('2')]), '1,5');
    assert.deepEqual(moves(fixture), ['cpus c2 0,2-4,6-7']);
    assert.equal(await run(fixture, 'part', [container('1500m')]), '0,2-4,6-7');
    fixture.runtime.exit(fixture.pod('alone')!.metadata.uid!, 'app', 0);
    await fixture.platform.clock.advance(11_000);
    assert.deepEqual(moves(fixture).slice(1).sort(), ['cpus c2 0-7', 'cpus c6 0-7']);
  });

  it('reuses the CPUs of an init container, and refuses pods without enough free CPUs', async () => {
    const fixture = await started();
    fixture.runtime.scripts.set('first', { exitAfterMs: 10 });
    const initContainers = [container('2', {}, 'first')];
    assert.equal(await run(fixture, 'web', [container('3')], { initContainers }), '1,4-5');
    assert.equal(
      await run(fixture, 'much', [container('5')]),
      'Failed UnexpectedAdmissionError Pod was rejected: Allocate failed due to not enough cpus available to satisfy request: requested=5, available=4, which is unexpected',
    );
  });

  it('assigns only whole cores with full-pcpus-only', async () => {
    const cpuManager = {
      ...KUBELET_DEFAULTS.cpuManager,
      policy: 'static',
      reservedCpus: '0,4',
      fullPcpusOnly: true,
    } as const;
    const fixture = await started({ cpuManager, systemReserved: { cpu: '2' } });
    assert.equal(
      await run(fixture, 'odd', [container('3')]),
      'Failed SMTAlignmentError Pod was rejected: SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2',
    );
    assert.equal(await run(fixture, 'even', [container('2')]), '1,5');
  });

  it('sets no quota with exclusive CPUs by default', async () => {
    const quota = async (fixture: KubeletFixture): Promise<(boolean | undefined)[]> => {
      await run(fixture, 'alone', [container('2'), container('1500m', {}, 'part')]);
      const pod = fixture.pod('alone')!;
      const of = async (each: Container) => (await fixture.kubelet.core.containerDevices(pod, each))?.withoutCpuQuota;
      return [
        await of(container('2')),
        await of(container('1', {}, 'part')),
        fixture.kubelet.core.withoutCpuQuota(pod),
      ];
    };
    assert.deepEqual(await quota(await started()), [true, undefined, true]);
    const cpuManager = { ...KUBELET_DEFAULTS.cpuManager, policy: 'static', reservedCpus: '0' } as const;
    const held = await started({ cpuManager: { ...cpuManager, quotaOnExclusiveCpus: true } });
    assert.deepEqual(await quota(held), [undefined, undefined, false]);
  });

  it('keeps its assignments over a restart, and refuses a checkpoint that does not match', async () => {
    const fixture = await started();
    await run(fixture, 'alone', [container('2')]);
    await fixture.stop();
    const again = await started({}, fixture);
    assert.equal(await bound(again, 'alone', [container('2')]), '1,5');
    assert.equal(await run(again, 'other', [container('2')]), '2,6');
    await again.stop();
    const path = '/var/lib/kubelet/cpu_manager_state';
    const kept = JSON.parse(await again.platform.files.readText(path));
    assert.deepEqual([kept.policyName, kept.defaultCpuSet], ['static', '0,3-4,7']);
    const none = createKubeletFixture({ beside: fixture });
    await assert.rejects(none.start(), /configured policy "none" differs from state checkpoint policy "static"/);
  });

  it('does not start without a reserved processor', async () => {
    const cpuManager = { ...KUBELET_DEFAULTS.cpuManager, policy: 'static' } as const;
    await assert.rejects(started({ cpuManager, systemReserved: {} }), /to be greater than zero/);
    running.pop();
  });
});

describe('the static policy for memory', () => {
  const reservedMemory = [{ numaNode: 0, limits: { memory: '1Gi' } }];
  const config: Partial<KubeletConfiguration> = {
    memoryManager: { policy: 'Static', reservedMemory },
    systemReserved: { cpu: '1', memory: '1Gi' },
    evictionHard: {},
  };

  it('binds containers to as few nodes as will do, and keeps groups of nodes apart', async () => {
    const fixture = await started(config);
    assert.equal(await run(fixture, 'a', [container('500m', { memory: '2Gi' })]), '0-7 on 0');
    assert.equal(await run(fixture, 'b', [container('500m', { memory: '2Gi' })]), '0-7 on 1');
    assert.match(
      await run(fixture, 'c', [container('500m', { memory: '2500Mi' })]),
      /no NUMA nodes with enough memory/,
    );
    assert.equal(await run(fixture, 'd', [container('500m', { memory: '2Gi' })]), '0-7 on 1');
  });

  it('does not start when the reservations do not add up', async () => {
    await assert.rejects(
      started({ ...config, systemReserved: { cpu: '1', memory: '2Gi' } }),
      /the total amount "1Gi" of type "memory" is not equal to the value "2Gi" determined by Node Allocatable feature/,
    );
    running.pop();
  });
});

describe('the topology manager', () => {
  it('does not start where there are more nodes than it may look at', async () => {
    const topologyManager = {
      ...KUBELET_DEFAULTS.topologyManager,
      policy: 'restricted',
      maxAllowableNumaNodes: 1,
    } as const;
    await assert.rejects(started({ topologyManager }), {
      message: 'unsupported on machines with more than 1 NUMA Nodes',
    });
    running.pop();
    await started({ topologyManager: { ...topologyManager, policy: 'none' } });
  });

  async function plugged(policy: KubeletConfiguration['topologyManager']['policy'], scope: 'container' | 'pod') {
    const fixture = await started({ topologyManager: { ...KUBELET_DEFAULTS.topologyManager, policy, scope } });
    const plugin = createFakeDevicePlugin(fixture.sockets, { resource: 'example.com/gpu', numa: true });
    plugin.tell('gpu1', 'gpu1b');
    await fixture.platform.clock.drive(plugin.register());
    await fixture.platform.clock.settle();
    return fixture;
  }
  const wish = { 'example.com/gpu': '1' };

  it('assigns CPUs near the device', async () => {
    const fixture = await plugged('single-numa-node', 'container');
    assert.equal(await run(fixture, 'web', [container('2', wish)]), '2,6');
  });

  it('refuses CPUs that are not near each other, or permits them', async () => {
    const refusal =
      'Failed TopologyAffinityError Pod was rejected: Resources cannot be allocated with Topology locality';
    const restricted = await plugged('restricted', 'container');
    assert.equal(await run(restricted, 'web', [container('6', wish)]), refusal);
    const bestEffort = await plugged('best-effort', 'container');
    assert.match(await run(bestEffort, 'web', [container('6', wish)]), /^1-3,5-7$/);
  });

  it('aligns a pod as a whole with scope pod', async () => {
    const two = [container('2', wish, 'x'), container('3', {}, 'y')];
    const each = await plugged('single-numa-node', 'container');
    assert.match(await run(each, 'web', two), /^2,6; /);
    const whole = await plugged('single-numa-node', 'pod');
    assert.match(await run(whole, 'web', two), /TopologyAffinityError/);
    assert.equal(await run(whole, 'less', [container('2', wish, 'x'), container('2', {}, 'y')]), '2,6; 3,7');
  });
});

describe('the pod resources socket', () => {
  it('reports the CPUs of containers and the allocatable ones', async () => {
    const fixture = await started({
      memoryManager: { policy: 'Static', reservedMemory: [{ numaNode: 0, limits: { memory: '1Gi' } }] },
      systemReserved: { cpu: '1', memory: '1Gi' },
      evictionHard: {},
      topologyManager: { ...KUBELET_DEFAULTS.topologyManager, policy: 'single-numa-node' },
    });
    const plugin = createFakeDevicePlugin(fixture.sockets, { resource: 'example.com/gpu', numa: true });
    plugin.tell('gpu1', 'gpu1b!');
    await fixture.platform.clock.drive(plugin.register());
    assert.equal(await run(fixture, 'web', [container('2', { 'example.com/gpu': '1' })]), '2,6 on 1');
    const caller = fixture.sockets.connect('/var/lib/kubelet/pod-resources/kubelet.sock', [podResourcesTable]);
    const call = (method: string, request: object): Promise<object> =>
      fixture.platform.clock.drive(caller.unary({ service: 'v1.PodResourcesLister', method }, request, {}));
    const topology = { nodes: [{ ID: 1 }] };
    const devices = [{ resourceName: 'example.com/gpu', deviceIds: ['gpu1'], topology }];
    const web = {
      name: 'web',
      namespace: 'default',
      containers: [
        {
          name: 'app',
          devices,
          cpuIds: [2, 6],
          memory: [{ memoryType: 'memory', size: GI, topology }],
          dynamicResources: [],
        },
      ],
    };
    assert.deepEqual(await call('List', {}), { podResources: [web] });
    assert.deepEqual(await call('Get', { podName: 'web', podNamespace: 'default' }), { podResources: web });
    await assert.rejects(
      call('Get', { podName: 'no', podNamespace: 'default' }),
      /pod no in namespace default not found/,
    );
    assert.deepEqual(await call('GetAllocatableResources', {}), {
      devices,
      cpuIds: [1, 2, 3, 4, 5, 6, 7],
      memory: [
        { memoryType: 'memory', size: 3 * GI, topology: { nodes: [{ ID: 0 }] } },
        { memoryType: 'memory', size: 4 * GI, topology },
      ],
    });
  });

  it('refuses calls beyond a burst of ten', async () => {
    const fixture = await started({});
    const caller = fixture.sockets.connect('/var/lib/kubelet/pod-resources/kubelet.sock', [podResourcesTable]);
    const list = (): Promise<object> => caller.unary({ service: 'v1.PodResourcesLister', method: 'List' }, {}, {});
    for (let count = 0; count < 10; count++) await list();
    await assert.rejects(list(), { code: 'ResourceExhausted', detail: 'rejected by rate limit' });
    await fixture.platform.clock.advance(10);
    await list();
  });
});
