import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bootstrapPriorityLevels } from '../bootstrap/objects.ts';
import { lendSeats, shareSeats } from './seat-limits.ts';

test('seats: shares of the total, and lending by demand', async (t) => {
  const specs = new Map(bootstrapPriorityLevels().map(({ metadata, spec }) => [metadata.name!, spec!]));
  const shares = Object.fromEntries(
    [...shareSeats(specs, 600)].map(([name, { nominal, min }]) => [name, `${nominal} ${min}`]),
  );
  assert.deepEqual(shares, {
    exempt: '0 0',
    system: '74 50',
    'node-high': '98 73',
    'leader-election': '25 25',
    'workload-high': '98 49',
    'workload-low': '245 24',
    'global-default': '49 24',
    'catch-all': '13 13',
  });
  const level = (parts: object) => ({
    nominal: 100,
    min: 50,
    max: 300,
    exempt: false,
    peak: 0,
    smoothed: 0,
    ...parts,
  });
  const cases: readonly (readonly [string, ReturnType<typeof level>[], number[]])[] = [
    ['idle levels share what there is', [level({}), level({})], [100, 100]],
    ['who wants more borrows from who is idle', [level({ peak: 300, smoothed: 300 }), level({})], [150, 50]],
    ['no more than may be borrowed', [level({ peak: 300, smoothed: 300, max: 120 }), level({})], [120, 80]],
    [
      'nobody loses what it uses of its own',
      [level({ peak: 300, smoothed: 300 }), level({ peak: 90, smoothed: 80 })],
      [110, 90],
    ],
    [
      'both want all: both get theirs',
      [level({ peak: 300, smoothed: 300 }), level({ peak: 300, smoothed: 300 })],
      [100, 100],
    ],
    [
      'an exempt level takes first, others keep their least',
      [level({ exempt: true, nominal: 0, min: 0, max: 600, peak: 160 }), level({}), level({})],
      [160, 50, 50],
    ],
  ];
  for (const [name, levels, expected] of cases) await t.test(name, () => assert.deepEqual(lendSeats(levels), expected));
});
