/** The times at which a node's status, its registration and its lease are sent, and the known state of its runtime. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node } from '../../api/gen/core-v1.ts';
import { Leases, Nodes } from '../../api/gen/resources.ts';
import { serviceUnavailable } from '../../api/status-error.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { createFakeCluster } from '../fixtures/fake-cluster-fixture.ts';
import { createFakeRuntime } from '../fixtures/fake-runtime-fixture.ts';
import { kubeletConfiguration } from '../kubelet-defaults.ts';
import { runLeaseController } from './lease-controller.ts';
import { createNodeStatusManager } from './node-status-manager.ts';
import { createRuntimeState } from './runtime-state.ts';

const config = kubeletConfiguration({ nodeName: 'n1', rootDirectory: '/k' });

describe('node status manager', () => {
  function rig(own = config) {
    const platform = createSimPlatform();
    const cluster = createFakeCluster(platform.clock);
    const cidrs: string[] = [];
    const problems: string[] = [];
    const events: string[] = [];
    const pressure = { memory: false, disk: false, pid: false };
    const manager = createNodeStatusManager(
      {
        platform,
        client: cluster.client,
        recorder: { event: (_target, type, reason, message) => void events.push(`${type} ${reason}: ${message}`) },
        runtime: createFakeRuntime(platform.clock),
        nodeIps: () => ['10.0.0.1'],
        volumesInUse: () => [],
        runtimeErrors: () => problems,
        networkErrors: () => [],
        pressure: () => ({ ...pressure }),
        devices: () => ({ capacity: {}, allocatable: {} }),
        onPodCidr: (cidr) => void cidrs.push(cidr),
      },
      own,
    );
    return { platform, cluster, cidrs, problems, events, pressure, manager, controller: new AbortController() };
  }

  it('reports changes at once, and nothing new every five minutes', async () => {
    const { platform, cluster, problems, manager, controller } = rig();
    await platform.files.makeDir('/k');
    manager.start(controller.signal);
    await platform.clock.settle();
    const patches = (): number => cluster.writes.filter((write) => write.startsWith('patch nodes/status')).length;
    const first = patches();
    await platform.clock.advance(290_000);
    assert.equal(patches(), first);
    await platform.clock.advance(20_000);
    assert.equal(patches(), first + 1);
    problems.push('down');
    manager.trigger();
    await platform.clock.settle();
    assert.equal(cluster.get(Nodes, { name: 'n1' })?.status?.conditions?.at(-1)?.message, 'down');
    controller.abort();
    await platform.clock.advance(60_000);
    assert.equal(platform.clock.pendingTimers, 0);
  });

  it('is computed every nodeStatusUpdateFrequency, and sent when something changed', async () => {
    const nodeStatusUpdateFrequencyMs = 7_000;
    const { platform, cluster, problems, manager, controller } = rig(
      kubeletConfiguration({ ...config, nodeStatusUpdateFrequencyMs }),
    );
    await platform.files.makeDir('/k');
    manager.start(controller.signal);
    await platform.clock.settle();
    const message = (): string | undefined => cluster.get(Nodes, { name: 'n1' })?.status?.conditions?.at(-1)?.message;
    for (const problem of ['one', 'two']) {
      problems[0] = problem;
      const before = message();
      await platform.clock.advance(nodeStatusUpdateFrequencyMs - 1);
      assert.equal(message(), before, 'nobody has told it');
      await platform.clock.advance(1);
      assert.equal(message(), problem);
    }
    controller.abort();
  });

  it('reports changes by events, and none at first', async () => {
    const { platform, cluster, problems, events, pressure, manager, controller } = rig();
    await platform.files.makeDir('/k');
    const bootId = (await platform.host.info()).bootId;
    manager.start(controller.signal);
    await platform.clock.settle();
    assert.deepEqual(events, []);
    const node = (): Node => cluster.get(Nodes, { name: 'n1' })!;
    const told = async (change: () => void): Promise<string[]> => {
      change();
      manager.trigger();
      await platform.clock.settle();
      return events.splice(0);
    };
    const cordon = (unschedulable: boolean): void =>
      manager.nodeSeen(cluster.put(Nodes, { ...node(), spec: { ...node().spec, unschedulable } }));
    const reboot = (): void => {
      const nodeInfo = { ...node().status!.nodeInfo!, bootID: 'before' };
      manager.nodeSeen(cluster.put(Nodes, { ...node(), status: { ...node().status, nodeInfo } }));
    };
    const now = 'Node n1 status is now: ';
    assert.deepEqual(await told(() => (pressure.memory = true)), [
      `Normal NodeHasInsufficientMemory: ${now}NodeHasInsufficientMemory`,
    ]);
    assert.deepEqual(await told(() => Object.assign(pressure, { memory: false, disk: true })), [
      `Normal NodeHasSufficientMemory: ${now}NodeHasSufficientMemory`,
      `Normal NodeHasDiskPressure: ${now}NodeHasDiskPressure`,
    ]);
    assert.deepEqual(await told(() => problems.push('down')), [`Normal NodeNotReady: ${now}NodeNotReady`]);
    assert.deepEqual(await told(() => problems.pop()), [`Normal NodeReady: ${now}NodeReady`]);
    assert.deepEqual(await told(() => cordon(true)), [`Normal NodeNotSchedulable: ${now}NodeNotSchedulable`]);
    assert.deepEqual(await told(() => cordon(true)), []);
    assert.deepEqual(await told(() => cordon(false)), [`Normal NodeSchedulable: ${now}NodeSchedulable`]);
    assert.deepEqual(await told(reboot), [`Warning Rebooted: Node n1 has been rebooted, boot id: ${bootId}`]);
    controller.abort();
  });

  it('keeps trying to register', async () => {
    const { platform, cluster, manager, controller } = rig();
    cluster.failures.set('create nodes', serviceUnavailable('down'));
    manager.start(controller.signal);
    await platform.clock.advance(3_000);
    cluster.failures.clear();
    await platform.clock.advance(5_000);
    assert.ok(cluster.get(Nodes, { name: 'n1' }));
    controller.abort();
  });

  it('registers nothing where others do, and reports once they have', async () => {
    const { platform, cluster, manager, controller } = rig(kubeletConfiguration({ ...config, registerNode: false }));
    manager.start(controller.signal);
    await platform.clock.advance(60_000);
    assert.equal(cluster.get(Nodes, { name: 'n1' }), undefined);
    cluster.put(Nodes, { metadata: { name: 'n1', uid: 'theirs' } });
    await platform.clock.advance(60_000);
    const node = cluster.get(Nodes, { name: 'n1' });
    assert.equal(node?.metadata.uid, 'theirs');
    assert.ok(node?.status?.conditions?.some(({ type }) => type === 'Ready'));
    controller.abort();
  });

  it('hands on the pod range once', async () => {
    const { platform, cluster, cidrs, manager, controller } = rig();
    manager.start(controller.signal);
    await platform.clock.settle();
    const node = cluster.get(Nodes, { name: 'n1' })!;
    const withRange = cluster.put(Nodes, { ...node, spec: { podCIDR: '10.42.0.0/24', podCIDRs: ['10.42.0.0/24'] } });
    manager.nodeSeen(withRange);
    manager.nodeSeen(withRange);
    assert.deepEqual(cidrs, ['10.42.0.0/24']);
    controller.abort();
  });
});

describe('node lease', () => {
  it('is created, owned by the node, and renewed every quarter of its life', async () => {
    const platform = createSimPlatform();
    const cluster = createFakeCluster(platform.clock);
    const node = cluster.put(Nodes, { metadata: { name: 'n1' } });
    const controller = new AbortController();
    const run = runLeaseController(
      { platform, client: cluster.client, node: () => node },
      { nodeName: 'n1', leaseDurationSeconds: 40 },
      controller.signal,
    );
    await platform.clock.settle();
    const lease = () => cluster.get(Leases, { namespace: 'kube-node-lease', name: 'n1' });
    assert.equal(lease()?.spec?.leaseDurationSeconds, 40);
    assert.equal(lease()?.metadata.ownerReferences?.[0]?.uid, node.metadata.uid);
    const first = lease()?.spec?.renewTime;
    await platform.clock.advance(9_999);
    assert.equal(lease()?.spec?.renewTime, first);
    await platform.clock.advance(401);
    assert.notEqual(lease()?.spec?.renewTime, first);
    cluster.put(Leases, { ...lease()!, metadata: { ...lease()!.metadata, labels: { touched: 'yes' } } });
    await platform.clock.advance(10_500);
    assert.equal(lease()?.metadata.labels?.['touched'], 'yes', 'a conflict is read anew and overcome');
    controller.abort();
    await platform.clock.drive(run);
  });
});

describe('runtime state', () => {
  it('is unknown at first, and expires after 30 s', async () => {
    const { clock } = createSimPlatform();
    const state = createRuntimeState(clock);
    assert.deepEqual(state.runtimeErrors(), ['container runtime status check may not have completed yet']);
    assert.deepEqual(state.networkErrors(), ['network state unknown']);
    state.setRuntimeSync();
    state.setNetworkState(undefined);
    state.addHealthCheck('PLEG', () => undefined);
    assert.deepEqual([...state.runtimeErrors(), ...state.networkErrors()], []);
    await clock.advance(30_001);
    assert.deepEqual(state.runtimeErrors(), ['container runtime is down']);
    state.addHealthCheck('PLEG', () => 'late');
    assert.deepEqual(state.runtimeErrors(), ['container runtime is down', 'PLEG is not healthy: late']);
  });
});
