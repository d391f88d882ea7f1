import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Node } from '../../api/gen/core-v1.ts';
import type { Endpoint } from '../../api/gen/discovery-v1.ts';
import { addTopologyHints, zoneShares } from './topology-hints.ts';

const node = (name: string, zone: string, cpu: string, more: { ready?: string; labels?: object } = {}): Node => ({
  metadata: { name, labels: { ...(zone === '' ? {} : { 'topology.kubernetes.io/zone': zone }), ...more.labels } },
  status: { allocatable: { cpu }, conditions: [{ type: 'Ready', status: more.ready ?? 'True' }] },
});
const even = [node('a', 'a', '4'), node('b', 'b', '4')];

const shares: readonly [what: string, nodes: readonly Node[], expected: object | undefined][] = [
  ['by processors', [...even, node('b2', 'b', '8')], { a: 0.25, b: 0.75 }],
  ['nodes that are not ready do not count', [...even, node('c', 'c', '4', { ready: 'False' })], { a: 0.5, b: 0.5 }],
  [
    'nor does the control plane',
    [...even, node('c', '', '4', { labels: { 'node-role.kubernetes.io/control-plane': '' } })],
    { a: 0.5, b: 0.5 },
  ],
  ['a node without a zone', [...even, node('c', '', '4')], undefined],
  ['a node without processors', [...even, node('c', 'c', '0')], undefined],
  ['no nodes', [], undefined],
];
for (const [what, nodes, expected] of shares)
  it(`shares of zones: ${what}`, () => {
    const found = zoneShares(nodes);
    assert.deepEqual(found === undefined ? undefined : Object.fromEntries(found), expected);
  });

const endpoints = (counts: Record<string, number>, ready = true): Endpoint[] =>
  Object.entries(counts).flatMap(([zone, count]) =>
    Array.from({ length: count }, (_, i) => ({
      addresses: [`10.0.0.${i}`],
      conditions: { ready },
      targetRef: { kind: 'Pod', name: `${zone}${i}` },
      ...(zone === '-' ? {} : { zone }),
    })),
  );

const rows: readonly [what: string, counts: Record<string, number>, shares: Record<string, number>, hints: object][] = [
  ['each its own', { a: 2, b: 2 }, { a: 0.5, b: 0.5 }, { a: { a: 2 }, b: { b: 2 } }],
  ['a zone with too many gives', { a: 5, b: 1 }, { a: 0.5, b: 0.5 }, { a: { a: 3, b: 2 }, b: { b: 1 } }],
  ['a zone without any takes', { a: 6 }, { a: 0.5, b: 0.5 }, { a: { a: 3, b: 3 } }],
  ['more to the larger', { a: 5, b: 5 }, { a: 0.3, b: 0.7 }, { a: { a: 3, b: 2 }, b: { b: 5 } }],
  ['less than one endpoint too many is borne', { a: 5, b: 4 }, { a: 0.5, b: 0.5 }, { a: { a: 5 }, b: { b: 4 } }],
  [
    'a zone without nodes gives all',
    { a: 2, b: 2, c: 2 },
    { a: 0.5, b: 0.5 },
    { a: { a: 2 }, b: { b: 2 }, c: { a: 1, b: 1 } },
  ],
];
for (const [what, counts, of, expected] of rows)
  it(`hints: ${what}`, () => {
    const all = endpoints(counts);
    const { enabled } = addTopologyHints([{ endpoints: all }], new Map(Object.entries(of)));
    assert.equal(enabled, true);
    const found: Record<string, Record<string, number>> = {};
    for (const { zone = '', hints } of all) {
      const to = hints?.forZones?.[0]?.name ?? '';
      const row = (found[zone] ??= {});
      row[to] = (row[to] ?? 0) + 1;
    }
    assert.deepEqual(found, expected);
  });

const half = { a: 0.5, b: 0.5 };
const refusals: readonly [counts: Record<string, number>, shares: object | undefined, message: RegExp][] = [
  [{ a: 3, b: 3 }, undefined, /^Insufficient Node information/],
  [{ a: 3 }, { a: 1 }, /^Insufficient Node information/],
  [{ a: 1 }, half, /^Insufficient number of endpoints \(1 endpoints, 2 zones\)$/],
  [
    { a: 2, b: 1 },
    half,
    /^Unable to allocate minimum required endpoints to each zone without exceeding overload threshold \(3 endpoints, 2 zones\)$/,
  ],
  [{ a: 2, '-': 2 }, half, /do not have a zone specified$/],
];
for (const [counts, of, message] of refusals)
  it(`no hints: ${message.source}`, () => {
    const all = endpoints(counts);
    const verdict = addTopologyHints([{ endpoints: all }], of === undefined ? undefined : new Map(Object.entries(of)));
    assert.equal(verdict.enabled, false);
    assert.match(verdict.message, message);
    assert.ok(all.every(({ hints }) => hints === undefined));
  });

it('endpoints that are not ready get no hint and do not count', () => {
  const [ready, not] = [endpoints({ a: 2, b: 2 }), endpoints({ a: 9 }, false)];
  assert.equal(addTopologyHints([{ endpoints: [...ready, ...not] }], new Map(Object.entries(half))).enabled, true);
  assert.ok(ready.every(({ zone, hints }) => hints?.forZones?.[0]?.name === zone));
  assert.ok(not.every(({ hints }) => hints === undefined));
});
