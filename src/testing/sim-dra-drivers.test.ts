/** ResourceSlices while kubelets and drivers of a whole cluster start and stop. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ResourceSlices } from '../api/gen/resources.ts';
import { Cluster } from './cluster.ts';

test('a starting kubelet deletes the ResourceSlices of its node, and drivers publish them again', async () => {
  const driver = 'gpu.example.com';
  await using cluster = await Cluster.start({ nodes: [{ draDrivers: [driver] }, { draDrivers: [driver] }] });
  const pool = { name: 'p', generation: 1, resourceSliceCount: 1 };
  for (const nodeName of ['node-1', 'node-2']) {
    const spec = { driver, nodeName, pool, devices: [{ name: 'gpu-0' }] };
    await cluster.apply({
      apiVersion: 'resource.k8s.io/v1',
      kind: 'ResourceSlice',
      metadata: { name: nodeName },
      spec,
    });
  }
  const uids = async (): Promise<Record<string, string>> => {
    const { items } = await cluster.client.resource(ResourceSlices).list();
    return Object.fromEntries(items.map(({ metadata }) => [metadata.name!, metadata.uid!]));
  };
  await cluster.advance('10s');
  const first = await uids();
  assert.deepEqual(Object.keys(first), ['node-1', 'node-2']);

  cluster.nodes.crashKubelet('node-1');
  await cluster.nodes.start('node-1');
  await cluster.advance('10s');
  const second = await uids();
  assert.deepEqual(Object.keys(second), ['node-1', 'node-2']);
  assert.notEqual(second['node-1'], first['node-1']);
  assert.equal(second['node-2'], first['node-2']);

  const { drivers, platform } = cluster.nodes.machine('node-1');
  const socket = drivers.socketOf(driver);
  await platform.files.remove(socket);
  await cluster.advance('29s');
  assert.deepEqual(await uids(), second);
  await cluster.advance('2s');
  assert.deepEqual(Object.keys(await uids()), ['node-2']);
  platform.files.makeSpecial(socket, 'socket');
  await cluster.advance('31s');
  assert.deepEqual(Object.keys(await uids()), ['node-1', 'node-2']);
});
