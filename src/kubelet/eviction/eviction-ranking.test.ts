import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { PodStats } from '../stats/summary-types.ts';
import { rankPodsForEviction } from './eviction-ranking.ts';

const MI = 1024 * 1024;

function pod(name: string, requestedMi: number, priority = 0): Pod {
  const requests = { memory: `${requestedMi}Mi` };
  return { metadata: { name }, spec: { priority, containers: [{ name: 'c', resources: { requests } }] } };
}

/** Pods with their use of memory; undefined: no statistics. */
function rankByMemory(...used: readonly (readonly [pod: Pod, usedMi: number | undefined])[]): (string | undefined)[] {
  const usedBy = new Map(used.map(([{ metadata }, usedMi]) => [metadata.name, usedMi]));
  const statsOf = ({ metadata }: Pod): PodStats | undefined => {
    const usedMi = usedBy.get(metadata.name);
    return usedMi === undefined ? undefined : ({ containers: [], memory: { workingSetBytes: usedMi * MI } } as never);
  };
  const of = { resource: 'memory', parts: { layers: true, logsAndVolumes: true } } as const;
  return rankPodsForEviction(
    used.map(([one]) => one),
    statsOf,
    of,
  ).map(({ metadata }) => metadata.name);
}

test('pods above their requests are evicted before pods within them, whatever their priority', () => {
  assert.deepEqual(rankByMemory([pod('within', 100), 90], [pod('above', 10, 1000), 11]), ['above', 'within']);
});

test('among pods above their requests lower priority is evicted first, then the larger excess', () => {
  const ranked = rankByMemory([pod('small', 10), 20], [pod('important', 10, 5), 900], [pod('large', 10), 500]);
  assert.deepEqual(ranked, ['large', 'small', 'important']);
});

test('pods without statistics are evicted first', () => {
  assert.deepEqual(rankByMemory([pod('known', 1), 500], [pod('unknown', 1), undefined]), ['unknown', 'known']);
});
