import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countNoise } from './type-noise.ts';

test('each pattern is counted, and similar code is not', () => {
  const source = `
    const key = pod.metadata.name ?? '';
    const uid = object.metadata!.uid ?? '';
    const version = object.metadata?.resourceVersion ?? '';
    const told = { ...(x === undefined ? {} : { x }), ...(list.length === 0 ? {} : { list }), ...(y && { y }) };
    const client = fake as unknown as Client;
    const none = fake as never;
    // The same as never before.
    const hostname = pod.spec.hostname ?? '';
    const name = pod.metadata.name ?? 'unnamed';
    const all = { ...(isOpen ? left : right), ...more };
    const thing = value as unknown;
  `;
  assert.deepEqual(Object.fromEntries(countNoise([source])), {
    'defaults for metadata': 3,
    'types forced through unknown': 1,
    'types forced through never': 1,
    'conditional spreads': 3,
  });
});
