import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSimPlatform } from '../sim/sim-platform.ts';
import { readTopology } from './host-topology.ts';

test('processors, NUMA nodes and how far these are from each other', async () => {
  const { files } = createSimPlatform();
  const write = async (path: string, text: string): Promise<void> => {
    const full = `/r/sys/devices/system/${path}`;
    await files.makeDir(full.slice(0, full.lastIndexOf('/')));
    await files.writeFile(full, `${text}\n`);
  };
  await write('cpu/online', '0-1');
  for (const [node, distance] of ['10 21', '21 10'].entries()) {
    await write(`cpu/cpu${node}/topology/core_id`, '0');
    await write(`cpu/cpu${node}/topology/physical_package_id`, String(node));
    await write(`node/node${node}/cpulist`, String(node));
    await write(`node/node${node}/meminfo`, `Node ${node} MemTotal: 1024 kB`);
    await write(`node/node${node}/distance`, distance);
  }
  const { cpus, nodes } = await readTopology(files, '/r');
  assert.deepEqual(cpus, [
    { cpu: 0, core: 0, socket: 0, node: 0 },
    { cpu: 1, core: 0, socket: 1, node: 1 },
  ]);
  assert.deepEqual(nodes, [
    { node: 0, memoryBytes: 2 ** 20, hugePages: [], distances: [10, 21] },
    { node: 1, memoryBytes: 2 ** 20, hugePages: [], distances: [21, 10] },
  ]);
});

test('a machine without NUMA nodes in /sys has one', async () => {
  const { files } = createSimPlatform();
  await files.makeDir('/r/proc');
  await files.writeFile('/r/proc/meminfo', 'MemTotal: 2048 kB\n');
  assert.deepEqual((await readTopology(files, '/r')).nodes, [{ node: 0, memoryBytes: 2 ** 21, hugePages: [] }]);
});
