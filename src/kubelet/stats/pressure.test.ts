/** Pressure of the node, pods and containers, in the summary and in metrics. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pressure, Pressures } from '../../platform/pressure.ts';
import { criPressures } from './runtime-pressures.ts';
import { createFixture } from './stats-fixture.ts';

const pressure = (total: number): Pressure => ({
  some: { avg10: 1.5, avg60: 0.5, avg300: 0.1, total },
  full: { avg10: 0, avg60: 0, avg300: 0, total: total / 2 },
});
const pressureFile = (total: number): string =>
  `some avg10=1.50 avg60=0.50 avg300=0.10 total=${total}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=${total / 2}\n`;

test('pressure of the node, all pods, pods and containers, in the summary and in metrics', async () => {
  const { provider, platform } = await createFixture({ podStats: true });
  await platform.files.makeDir('/proc/pressure');
  for (const resource of ['cpu', 'memory', 'io'])
    await platform.files.writeFile(`/proc/pressure/${resource}`, pressureFile(8_000_000));
  await platform.cgroups.create('/kubepods/podu1/c1', {});
  const set = (name: string, pressures: Pressures): void => {
    platform.cgroups.groups.get(name)!.pressures = pressures;
  };
  set('/kubepods', { cpu: pressure(4_000_000) });
  set('/kubepods/podu1', { memory: pressure(2_000_000), io: pressure(1_000_000) });
  set('/kubepods/podu1/c1', { cpu: pressure(500_000), io: pressure(250_000) });
  const { node, pods } = await provider.summary({ onlyCpuAndMemory: true });
  assert.deepEqual([node.cpu!.psi, node.memory!.psi, node.io!.psi], Array(3).fill(pressure(8_000_000)));
  assert.deepEqual(node.systemContainers![0]!.cpu!.psi, pressure(4_000_000));
  assert.deepEqual(
    [pods[0]!.cpu!.psi, pods[0]!.memory!.psi, pods[0]!.io!.psi],
    [undefined, pressure(2_000_000), pressure(1_000_000)],
  );
  const [container] = pods[0]!.containers;
  assert.deepEqual(
    [container!.cpu!.psi, container!.memory!.psi, container!.io!.psi],
    [pressure(500_000), undefined, pressure(250_000)],
  );
  const text = await provider.cadvisorMetrics();
  const at = platform.clock.nowMs();
  for (const line of [
    `container_pressure_cpu_waiting_seconds_total{id="/"} 8 ${at}`,
    `container_pressure_cpu_stalled_seconds_total{id="/"} 4 ${at}`,
    `container_pressure_io_waiting_seconds_total{container="",id="podu1",image="",name="",namespace="default",pod="web"} 1 ${at}`,
    `container_pressure_cpu_stalled_seconds_total{container="app",id="c1",image="img",name="c1",namespace="default",pod="web"} 0.25 ${at}`,
    '# TYPE container_pressure_memory_stalled_seconds_total counter',
  ])
    assert.ok(text.split('\n').includes(line), line);
  const quiet = await provider.summary({ withoutPressure: true });
  assert.deepEqual([quiet.node.io, quiet.pods[0]!.io], [undefined, undefined]);
});

test('unreadable pressure is left out of the statistics, and logged once', async () => {
  const { provider, platform } = await createFixture();
  await platform.files.makeDir('/proc/pressure');
  for (const resource of ['cpu', 'memory', 'io'])
    await platform.files.writeFile(`/proc/pressure/${resource}`, pressureFile(8_000_000));
  const denied = (path: string): Error => Object.assign(new Error(`EACCES: ${path}`), { code: 'EACCES' });
  const { readText } = platform.files;
  platform.files.readText = async (path) => {
    if (path === '/proc/pressure/io') throw denied(path);
    return readText(path);
  };
  platform.cgroups.pressures = async (name) => Promise.reject(denied(name));
  const { node, pods } = await provider.summary();
  assert.deepEqual([node.cpu!.psi, node.io], [pressure(8_000_000), undefined]);
  assert.ok(!('psi' in pods[0]!.cpu!));
  await platform.clock.advance(1000);
  assert.match(await provider.cadvisorMetrics(), /container_pressure_cpu_waiting_seconds_total\{id="\/"\} 8 /);
  const told = platform.log.entries.filter(({ message }) => message === 'Failed to read pressure stall information');
  assert.equal(told.length, 1);
});

test('a kernel without pressure: no field, no metric, no cgroup read', async () => {
  const { provider, platform } = await createFixture();
  platform.cgroups.groups.get('/kubepods/podu1')!.pressures = { cpu: pressure(1) };
  const { node, pods } = await provider.summary();
  for (const part of [node, pods[0]!, pods[0]!.containers[0]!]) {
    assert.ok(!('psi' in part.cpu!) && !('psi' in part.memory!) && !('io' in part));
  }
  assert.ok(!(await provider.cadvisorMetrics()).includes('container_pressure'));
});

test('the pressure of the runtime takes precedence over that of the cgroup', () => {
  const told = { Full: { Total: 4, Avg10: 1, Avg60: 2, Avg300: 3 }, Some: { Total: 5, Avg10: 0, Avg60: 0, Avg300: 0 } };
  assert.deepEqual(criPressures({ cpu: told, memory: undefined }), {
    cpu: {
      some: { total: 5, avg10: 0, avg60: 0, avg300: 0 },
      full: { total: 4, avg10: 1, avg60: 2, avg300: 3 },
    },
  });
  assert.equal(criPressures({ cpu: undefined, memory: undefined, io: undefined }), undefined);
});
