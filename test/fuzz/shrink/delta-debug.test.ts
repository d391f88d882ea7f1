import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deltaDebug } from './delta-debug.ts';

for (const needed of [[], [0], [99], [3, 50], [1, 2, 97]])
  test(`of a hundred items ${JSON.stringify(needed)} are left when only they are needed`, async () => {
    const items = Array.from({ length: 100 }, (_, at) => at);
    const found = await deltaDebug(items, async (some) => needed.every((one) => some.includes(one)));
    assert.deepEqual(found, needed);
  });
