import assert from 'node:assert/strict';
import { test } from 'node:test';
import { roundResourceList } from './resource-lists.ts';

for (const [quantity, rounded] of [
  ...['0', '5', '100m', '-3', '12Ki', '1.5Gi', '7k', '2E', '3e6', '0.001', '99999999999999999999', 'none', ''].map(
    (text) => [text, text] as const,
  ),
  ['1n', '1m'],
  ['1500u', '2m'],
  ['0.0001', '1m'],
  ['1e-6', '1e-3'],
] as const)
  test(`${JSON.stringify(quantity)} in a list of resources is ${JSON.stringify(rounded)}`, () => {
    const list = { cpu: quantity };
    roundResourceList(list);
    assert.equal(list.cpu, rounded);
  });
