/** The order of endpoints: turns, sticky clients, unreachable ones, and the limit of what is remembered. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../../../platform/sim/virtual-clock.ts';
import type { Backend } from '../../snapshot/snapshot.ts';
import { EndpointChooser } from './endpoint-chooser.ts';

const backend = (count: number, isSticky = false): Backend => ({
  protocol: 'http',
  isSticky,
  endpoints: Array.from({ length: count }, (_, at) => ({ address: `10.0.${at >> 8}.${at & 255}`, port: 80 })),
});
const clients = Array.from({ length: 3_000 }, (_, at) => `192.0.2.${at}`);

test('endpoints take turns, three for a request, and an unreachable one comes last for five seconds', async () => {
  const clock = new VirtualClock();
  const chooser = new EndpointChooser(clock);
  const four = backend(4);
  const [a, b, c, d] = four.endpoints;
  assert.deepEqual(chooser.order(four, ''), [a, b, c]);
  chooser.failed(b!);
  assert.deepEqual(chooser.order(four, ''), [c, d, b]);
  await clock.advance(5_000);
  chooser.order(four, '');
  chooser.order(four, '');
  assert.deepEqual(chooser.order(four, ''), [a, b, c]);
});

test('clients of a sticky backend are spread, and keep their endpoint when another one goes', () => {
  const chooser = new EndpointChooser(new VirtualClock());
  const all = backend(10, true);
  const first = clients.map((client) => chooser.order(all, client)[0]!);
  for (const endpoint of all.endpoints) {
    const share = first.filter((one) => one === endpoint).length;
    assert.ok(share > 200 && share < 400, `${share} of 3,000 clients`);
  }
  const fewer = { ...all, endpoints: all.endpoints.slice(1) };
  for (const [at, client] of clients.entries())
    if (first[at] !== all.endpoints[0]) assert.equal(chooser.order(fewer, client)[0], first[at]);
});

test('a client of a sticky backend moves to its second endpoint while its first is unreachable', async () => {
  const clock = new VirtualClock();
  const chooser = new EndpointChooser(clock);
  const all = backend(5, true);
  const [first, second, third] = chooser.order(all, 'client');
  chooser.failed(first!);
  assert.deepEqual(chooser.order(all, 'client').slice(0, 2), [second, third]);
  await clock.advance(5_000);
  assert.deepEqual(chooser.order(all, 'client'), [first, second, third]);
});

test('of many unreachable endpoints the latest thousand are remembered', () => {
  const chooser = new EndpointChooser(new VirtualClock());
  const many = backend(2_000);
  for (const endpoint of many.endpoints) chooser.failed(endpoint);
  assert.deepEqual(chooser.order(many, ''), many.endpoints.slice(0, 3));
  const last = { ...many, endpoints: [many.endpoints[1_999]!, many.endpoints[0]!] };
  assert.equal(chooser.order(last, '')[0], many.endpoints[0]);
});
