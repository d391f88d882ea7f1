/** A cluster on machines of a cloud. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Nodes } from '../api/gen/resources.ts';
import { Cluster } from './cluster.ts';

const SHUTDOWN = 'node.cloudprovider.kubernetes.io/shutdown';

it('nodes are deleted with their machines, and tainted while these have no power', async () => {
  await using cluster = await Cluster.start({ nodes: 3, cloud: true });
  const nodes = cluster.client.resource(Nodes);
  const [first, second, third] = (await nodes.list({})).items.map(({ metadata }) => metadata.name ?? '');
  await cluster.nodes.terminate(first!);
  await cluster.nodes.crash(second!);
  await cluster.eventually(async () => {
    const { items } = await nodes.list({});
    const shown = items.map(({ metadata, spec }) => [
      metadata.name,
      (spec?.taints ?? []).some(({ key }) => key === SHUTDOWN),
    ]);
    assert.deepEqual(shown, [
      [second, true],
      [third, false],
    ]);
  });
  await cluster.nodes.start(second!);
  await cluster.eventually(async () => {
    const { spec } = await nodes.get({ name: second! });
    assert.ok(!(spec?.taints ?? []).some(({ key }) => key === SHUTDOWN));
  });
});

it('without a cloud the node of a deleted machine stays', async () => {
  await using cluster = await Cluster.start({ nodes: 2 });
  const nodes = cluster.client.resource(Nodes);
  const [first] = (await nodes.list({})).items.map(({ metadata }) => metadata.name ?? '');
  await cluster.nodes.terminate(first!);
  await cluster.advance('5m');
  assert.equal((await nodes.get({ name: first! })).metadata.name, first);
});
