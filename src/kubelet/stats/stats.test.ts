/** Summary and metrics from a scripted runtime on a simulated host. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { busyNanoseconds, parseInterfaces } from './node-usage.ts';
import { formatMetrics } from './prometheus-text.ts';
import { DEVICE } from './summary-types.ts';
import { createUsageRates } from './usage-rates.ts';
import { createFixture } from './stats-fixture.ts';

test('the summary: newest run, rates from the second reading on, ephemeral storage', async () => {
  const { platform, provider, state, setCgroup } = await createFixture({ podStats: true });
  const first = await provider.summary();
  const [before] = first.pods;
  assert.equal(before!.containers.length, 1);
  assert.equal(before!.containers[0]!.cpu!.usageNanoCores, undefined);
  await platform.clock.advance(10_000);
  state.cpuNs += 5e9;
  setCgroup(12e9);
  await platform.files.writeFile('/proc/stat', 'cpu  600 0 600 9000 10 0 0 0 0 0\n');
  const { node, pods } = await provider.summary();
  const [now] = pods;
  assert.equal(now!.containers[0]!.cpu!.usageNanoCores, 5e8);
  assert.equal(now!.cpu!.usageNanoCores, 6e8);
  assert.equal(now!.memory!.workingSetBytes, 1500);
  assert.equal(now!.containers[0]!.memory!.workingSetBytes, 1000);
  assert.deepEqual([now!.containers[0]!.rootfs!.usedBytes, now!.containers[0]!.logs!.usedBytes], [300, 50]);
  assert.equal(now!['ephemeral-storage']!.usedBytes, 300 + 50 + 4000 + 20 + 7);
  assert.deepEqual(
    now!.volume!.map(({ name, pvcRef }) => [name, pvcRef?.name]),
    [
      ['scratch', undefined],
      ['data', 'claim'],
    ],
  );
  assert.deepEqual([now!.network!.rxBytes, now!.process_stats!.process_count], [11, 7]);
  assert.equal(now!.startTime, '2026-01-01T00:00:00Z');
  assert.deepEqual(
    [node.cpu!.usageNanoCores, node.runtime!.imageFs!.usedBytes, node.systemContainers![0]!.name],
    [1e9, 12_345, 'pods'],
  );
  assert.ok(node.fs!.capacityBytes! > 0 && node.memory!.workingSetBytes! > 0);
});

test('ended containers, as of initialization, have no readings, and pods of ended containers alone are left out', async () => {
  const { provider, platform, status } = await createFixture({ podStats: true });
  const names = async (): Promise<readonly string[]> =>
    (await provider.summary()).pods.flatMap(({ containers }) => containers.map(({ name }) => name));
  assert.deepEqual(await names(), ['app']);
  const metrics = await provider.resourceMetrics();
  assert.match(metrics, /container_start_time_seconds\{container="app"/);
  assert.doesNotMatch(metrics, /container="setup"/);
  for (const container of status.containers) Object.assign(container, { state: 'exited' });
  await platform.clock.advance(10_000);
  assert.deepEqual((await provider.summary()).pods, []);
});

test('requests within a second share a reading; volumes are measured once a minute; missing calls of the runtime are tried once', async () => {
  const { platform, provider, state } = await createFixture();
  await Promise.all([provider.summary(), provider.cadvisorMetrics(), provider.resourceMetrics()]);
  await platform.clock.advance(1000);
  await provider.summary();
  assert.deepEqual([state.podStatsAsked, state.volumesAsked], [1, 1]);
  await platform.clock.advance(60_000);
  await provider.summary();
  await platform.clock.settle();
  assert.equal(state.volumesAsked, 2);
});

test('volumes are measured as often as they may be, or never', async () => {
  for (const [volumeStatsPeriodMs, expected] of [
    [10_000, 3],
    [-1, 0],
  ] as const) {
    const { platform, provider, state } = await createFixture({ volumeStatsPeriodMs });
    for (let round = 0; round < 3; round++) {
      const { pods } = await provider.summary();
      assert.equal(pods[0]!.volume !== undefined, expected > 0);
      await platform.clock.advance(10_000);
    }
    assert.equal(state.volumesAsked, expected);
  }
});

test('metrics of the kubelet: running pods and containers, and the space of claimed volumes', async () => {
  const { provider } = await createFixture();
  const text = await provider.kubeletMetrics();
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const claim = '{namespace="default",persistentvolumeclaim="claim"}';
  assert.deepEqual(lines, [
    'kubelet_node_name{node="node-1"} 1',
    'kubelet_running_containers{container_state="exited"} 1',
    'kubelet_running_containers{container_state="running"} 1',
    'kubelet_running_pods 1',
    `kubelet_volume_stats_available_bytes${claim} 0`,
    `kubelet_volume_stats_capacity_bytes${claim} 0`,
    `kubelet_volume_stats_inodes${claim} 0`,
    `kubelet_volume_stats_inodes_free${claim} 0`,
    `kubelet_volume_stats_inodes_used${claim} 1`,
    `kubelet_volume_stats_used_bytes${claim} 9000`,
  ]);
});

test('writable layers on a file system of their own; each file system is read once', async () => {
  const { provider, platform } = await createFixture({ layersAt: '/layers' });
  await platform.files.makeDir('/layers');
  const { stat, statFileSystem } = platform.files;
  const read: string[] = [];
  platform.files.stat = async (path) => ({ ...(await stat(path)), dev: path === '/layers' ? 2 : 1 });
  platform.files.statFileSystem = async (path) => {
    read.push(path);
    // The figures of a file system may change between two readings.
    return { ...(await statFileSystem(path)), totalInodes: 1000 + read.length };
  };
  const { node, pods } = await provider.summary();
  const { imageFs, containerFs } = node.runtime!;
  assert.equal(read.length, 2, read.join());
  assert.equal(imageFs!.inodes, node.fs!.inodes);
  assert.notEqual(containerFs!.inodes, imageFs!.inodes);
  assert.equal(containerFs!.usedBytes, undefined);
  assert.deepEqual([node.fs![DEVICE], imageFs![DEVICE], containerFs![DEVICE]], [1, 1, 2]);
  const [container] = pods[0]!.containers;
  assert.deepEqual([container!.rootfs!.inodes, container!.logs!.inodes], [containerFs!.inodes, node.fs!.inodes]);
});

test('subvolumes of one file system, which have their own devices, are not distinguished by these', async () => {
  const { provider, platform } = await createFixture({ layersAt: '/layers' });
  await platform.files.makeDir('/layers');
  const { stat, statFileSystem } = platform.files;
  platform.files.stat = async (path) => ({ ...(await stat(path)), dev: path === '/layers' ? 2 : 1 });
  platform.files.statFileSystem = async (path) => ({ ...(await statFileSystem(path)), totalInodes: 0 });
  const { node } = await provider.summary();
  assert.deepEqual([node.fs![DEVICE], node.runtime!.containerFs![DEVICE]], [undefined, undefined]);
});

test('CPU and memory alone', async () => {
  const { provider, state } = await createFixture();
  const { node, pods } = await provider.summary({ onlyCpuAndMemory: true });
  assert.deepEqual(
    [node.fs, pods[0]!.volume, pods[0]!.containers[0]!.rootfs, state.volumesAsked],
    [undefined, undefined, undefined, 0],
  );
});

test('resource metrics, with times, and an error as a metric', async () => {
  const { provider, state, platform } = await createFixture();
  const text = await provider.resourceMetrics();
  const at = platform.clock.nowMs();
  for (const line of [
    `container_cpu_usage_seconds_total{container="app",namespace="default",pod="web"} 5 ${at}`,
    `container_memory_working_set_bytes{container="app",namespace="default",pod="web"} 1000 ${at}`,
    'container_start_time_seconds{container="app",namespace="default",pod="web"} 1767225600',
    `node_cpu_usage_seconds_total 2 ${at}`,
    `pod_cpu_usage_seconds_total{namespace="default",pod="web"} 6 ${at}`,
    `pod_memory_working_set_bytes{namespace="default",pod="web"} 1500 ${at}`,
    'resource_scrape_error 0',
    '# TYPE node_memory_working_set_bytes gauge',
  ])
    assert.ok(text.split('\n').includes(line), line);
  state.broken = true;
  await platform.clock.advance(1000);
  assert.match(await provider.resourceMetrics(), /^resource_scrape_error 1$/m);
  await assert.rejects(provider.summary(), { message: 'rpc error: code = Unavailable desc = gone' });
});

test("cadvisor's names", async () => {
  const { provider, platform } = await createFixture({ podStats: true });
  const text = await provider.cadvisorMetrics();
  const at = platform.clock.nowMs();
  for (const line of [
    `container_cpu_usage_seconds_total{container="app",id="c1",image="img",name="c1",namespace="default",pod="web",cpu="total"} 5 ${at}`,
    `container_spec_memory_limit_bytes{container="app",id="c1",image="img",name="c1",namespace="default",pod="web"} 67108864 ${at}`,
    `container_spec_cpu_quota{container="app",id="c1",image="img",name="c1",namespace="default",pod="web"} 50000 ${at}`,
    `container_network_receive_bytes_total{container="",id="podu1",image="",name="",namespace="default",pod="web",interface="eth0"} 11 ${at}`,
    'machine_cpu_cores 4',
  ])
    assert.ok(text.split('\n').includes(line), line);
});

test('cAdvisor counters are read from the cgroups of pods and containers, packets from a process of the pod', async () => {
  const { provider, platform } = await createFixture({ podStats: true });
  const { cgroups, files } = platform;
  const device = { major: 8, minor: 0, readBytes: 100, writeBytes: 200, reads: 3, writes: 4 };
  const counters = { cfsPeriods: 10, cfsThrottledPeriods: 3, memoryCacheBytes: 5, oomKills: 1, devices: [device] };
  await cgroups.create('/kubepods/podu1/c1', {});
  cgroups.groups.get('/kubepods/podu1/c1')!.counters = counters;
  await cgroups.addProcess('/kubepods/podu1/c1', 17);
  await files.makeDir('/proc/17/net');
  await files.writeFile(
    '/proc/17/net/dev',
    'a|b\n face |z\n    lo: 1 1 1 0 0 0 0 0 1 1 1 1\n  eth0:10 5 0 2 0 0 0 0 30 6 0 3\n',
  );
  await files.writeFile('/proc/diskstats', '   8       0 sda 1 2 3\n');
  const lines = (await provider.cadvisorMetrics()).split('\n');
  const at = platform.clock.nowMs();
  const container = 'container="app",id="c1",image="img",name="c1",namespace="default",pod="web"';
  const pod = 'container="",id="podu1",image="",name="",namespace="default",pod="web"';
  for (const line of [
    `container_cpu_cfs_periods_total{${container}} 10 ${at}`,
    `container_cpu_cfs_throttled_periods_total{${container}} 3 ${at}`,
    `container_memory_cache{${container}} 5 ${at}`,
    `container_oom_events_total{${container}} 1 ${at}`,
    `container_fs_reads_bytes_total{${container},device="/dev/sda"} 100 ${at}`,
    `container_fs_writes_total{${container},device="/dev/sda"} 4 ${at}`,
    `container_blkio_device_usage_total{${container},device="/dev/sda",major="8",minor="0",operation="Write"} 200 ${at}`,
    `container_network_receive_packets_total{${pod},interface="eth0"} 5 ${at}`,
    `container_network_transmit_packets_dropped_total{${pod},interface="eth0"} 3 ${at}`,
  ])
    assert.ok(lines.includes(line), line);
  assert.ok(lines.some((line) => line.startsWith('container_memory_working_set_bytes{id="/"} ')));
});

test('rates, /proc and text format', () => {
  const rates = createUsageRates();
  assert.equal(rates.rate('a', 0, 0), undefined);
  assert.equal(rates.rate('a', 500, 1e9), undefined);
  assert.equal(rates.rate('a', 2000, 1e9), 5e8);
  assert.equal(rates.rate('a', 2500, 9e9), 5e8);
  assert.equal(rates.rate('a', 3000, 0), undefined);
  assert.equal(busyNanoseconds('intr 1\n'), undefined);
  assert.equal(busyNanoseconds('cpu  1 2 3 100 100 4 5 6 7 8\n'), 21e7);
  assert.deepEqual(
    parseInterfaces('x|y\n face |z\n    lo: 1 1 1 0 0 0 0 0 1 1 1\n  eth0:10 0 2 0 0 0 0 0 30 0 4 0\n'),
    [{ name: 'eth0', rxBytes: 10, rxErrors: 2, txBytes: 30, txErrors: 4 }],
  );
  assert.equal(
    formatMetrics([
      { name: 'b', help: 'h', type: 'gauge', samples: [] },
      { name: 'a', help: 'h', type: 'counter', samples: [{ labels: { l: 'a"\\\n' }, value: 1 }] },
    ]),
    '# HELP a h\n# TYPE a counter\na{l="a\\"\\\\\\n"} 1\n',
  );
});
