/** Alignment to the nearest NUMA nodes. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { HintProvider, TopologyHint } from './hints.ts';
import { closestBy } from './merge-hints.ts';
import { createTopologyManager, type TopologyManagerConfig } from './topology-manager.ts';

/** Four nodes: 0 and 2 lie near each other, so do 1 and 3. */
const distances = [
  [10, 30, 12, 30],
  [30, 10, 30, 12],
  [12, 30, 10, 30],
  [30, 12, 30, 10],
];

describe('masks of NUMA nodes', () => {
  const better = closestBy(
    new Map(distances.map((row, from) => [from, new Map(row.map((each, to) => [to, each] as const))])),
  );
  const cases: [string, number, number, boolean][] = [
    ['the nearer pair', 0b0101, 0b0011, true],
    ['the farther pair', 0b0011, 0b0101, false],
    ['the lower of two as near', 0b0101, 0b1010, true],
    ['the higher of two as near', 0b1010, 0b0101, false],
    ['fewer nodes, however far', 0b0011, 0b0111, true],
    ['itself', 0b0011, 0b0011, false],
  ];
  for (const [name, a, b, expected] of cases) it(name, () => assert.equal(better(a, b), expected));
});

describe('containers that need two NUMA nodes', () => {
  const pod: Pod = { metadata: { name: 'p', uid: 'u' }, spec: { containers: [{ name: 'app' }] } };
  const pairs: TopologyHint[] = [0b0011, 0b0101, 0b1010].map((affinity) => ({ affinity, preferred: true }));

  async function chosen(config: Partial<TopologyManagerConfig>): Promise<number | undefined> {
    let affinity: number | undefined;
    const provider: HintProvider = {
      topologyHints: () => ({ cpu: pairs }),
      podTopologyHints: () => ({ cpu: pairs }),
      allocate: (_pod, _container, hint) => void (affinity = hint.affinity),
    };
    const manager = createTopologyManager(
      { numaNodes: () => distances.map((row, node) => ({ node, distances: row })), providers: [provider] },
      { policy: 'restricted', scope: 'container', preferClosestNumaNodes: false, maxAllowableNumaNodes: 8, ...config },
    );
    await manager.admit(pod);
    return affinity;
  }

  it('are the lowest by default, the nearest with prefer-closest-numa-nodes', async () => {
    assert.equal(await chosen({}), 0b0011);
    assert.equal(await chosen({ preferClosestNumaNodes: true }), 0b0101);
    assert.equal(await chosen({ preferClosestNumaNodes: true, policy: 'best-effort', scope: 'pod' }), 0b0101);
  });
});
