import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeSpec } from '../gen/core-v1.ts';
import { setNodeDefaults } from './core.ts';

const [a, b, v6] = ['10.42.1.0/24', '10.42.2.0/24', 'fd42::/64'];

test('podCIDR is the first of podCIDRs, and has precedence when they differ', () => {
  const cases: readonly (readonly [sent: NodeSpec, kept: NodeSpec])[] = [
    [{}, {}],
    [{ podCIDR: a }, { podCIDR: a, podCIDRs: [a] }],
    [{ podCIDRs: [a, v6] }, { podCIDR: a, podCIDRs: [a, v6] }],
    [
      { podCIDR: a, podCIDRs: [a, v6] },
      { podCIDR: a, podCIDRs: [a, v6] },
    ],
    [
      { podCIDR: b, podCIDRs: [a, v6] },
      { podCIDR: b, podCIDRs: [b] },
    ],
    [
      { podCIDR: b, podCIDRs: [] },
      { podCIDR: b, podCIDRs: [b] },
    ],
  ];
  for (const [sent, kept] of cases) {
    const node = { metadata: { name: 'n' }, spec: structuredClone(sent) };
    setNodeDefaults(node);
    assert.deepEqual(node.spec, kept, JSON.stringify(sent));
  }
});
