import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Node } from '../../api/gen/core-v1.ts';
import { Nodes } from '../../api/gen/resources.ts';
import { startHarness } from '../controllers-fixture.ts';
import { createTtlController, nextBand, secondsOfBand } from './ttl-controller.ts';

const rows: readonly [before: number, nodes: number, seconds: number][] = [
  [0, 100, 0],
  [0, 101, 15],
  [1, 90, 15],
  [1, 89, 0],
  [1, 501, 30],
  [2, 450, 30],
  [2, 449, 15],
  [3, 2001, 300],
  [4, 1800, 300],
  [4, 1799, 60],
  [4, 100_000, 300],
];
for (const [before, nodes, seconds] of rows)
  it(`${nodes} nodes, of band ${before} before: ${seconds} s`, () =>
    assert.equal(secondsOfBand(nextBand(before, nodes)), seconds));

it('nodes are annotated, each at its next event after the cluster has grown, and other annotations stay', async () => {
  const h = startHarness([createTtlController]);
  const ttl = (name: string): unknown => {
    const node = h.api.objects(Nodes).find((one) => one.metadata.name === name);
    return node?.metadata.annotations;
  };
  h.api.seed(Nodes, { metadata: { name: 'n0', annotations: { a: 'b' } } });
  await h.clock.advance(100);
  assert.deepEqual(ttl('n0'), { a: 'b', 'node.alpha.kubernetes.io/ttl': '0' });
  for (let i = 1; i <= 100; i++) h.api.seed(Nodes, { metadata: { name: `n${i}` } });
  await h.clock.advance(100);
  assert.deepEqual(ttl('n100'), { 'node.alpha.kubernetes.io/ttl': '15' });
  h.api.modify<Node>(Nodes, 'n0', (node) => ({ ...node, status: { phase: 'Running' } }));
  await h.clock.advance(100);
  assert.deepEqual(ttl('n0'), { a: 'b', 'node.alpha.kubernetes.io/ttl': '15' });
  const writes = h.api.requests.filter(({ method }) => method === 'PATCH').length;
  h.api.modify<Node>(Nodes, 'n0', (node) => ({ ...node, status: { phase: 'Pending' } }));
  await h.clock.advance(100);
  assert.equal(h.api.requests.filter(({ method }) => method === 'PATCH').length, writes, 'nothing to say');
  await h.stop();
});
