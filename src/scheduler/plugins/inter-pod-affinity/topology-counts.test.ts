import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeInfo } from '../../cache/node-info.ts';
import { addToCount, copyCounts, countAt, type TopologyCounts } from './topology-counts.ts';

const node = { node: { metadata: { labels: { zone: 'a' } } } } as unknown as NodeInfo;

test('counts and a copy of them change apart, whichever changes first', () => {
  const counts: TopologyCounts = [{ topologyKey: 'zone', values: new Map([['a', 1]]) }];
  addToCount(counts, 0, { node, by: 1 });
  const copy = copyCounts(counts);
  addToCount(counts, 0, { node, by: 5 });
  addToCount(copy, 0, { node, by: 10 });
  assert.deepEqual([countAt(counts[0]!, node), countAt(copy[0]!, node)], [7, 12]);
});
