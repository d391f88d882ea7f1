import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EndpointSlice } from '../api/gen/discovery-v1.ts';
import { createSeededRandom } from '../platform/sim/random.ts';
import { readyEndpoint } from './ready-endpoint.ts';

const slice = (service: string, endpoints: object[], more: object = {}): EndpointSlice =>
  ({
    metadata: { namespace: 'n', labels: { 'kubernetes.io/service-name': service } },
    addressType: 'IPv4',
    endpoints,
    ports: [{ name: 'web', port: 8080 }],
    ...more,
  }) as EndpointSlice;
const chosen = (slices: readonly EndpointSlice[], portName = 'web', random = createSeededRandom('r')) =>
  readyEndpoint({ objects: { list: () => slices } as never, random }, { namespace: 'n', service: 's', portName });

test('every ready endpoint of the port may be chosen, and no other', () => {
  const slices = [
    slice('s', [{ addresses: ['10.0.0.1'] }, { addresses: ['10.0.0.2'], conditions: { ready: false } }]),
    slice('s', [{ addresses: ['10.0.0.3', '10.0.0.4'] }, { addresses: ['10.0.0.5'] }]),
    slice('s', [{ addresses: ['10.0.0.6'] }], { ports: [{ name: 'other', port: 1 }] }),
    slice('s', [{ addresses: ['a.example'] }], { addressType: 'FQDN' }),
    slice('t', [{ addresses: ['10.0.0.7'] }]),
  ];
  const random = createSeededRandom('r');
  const hosts = new Set(Array.from({ length: 200 }, () => chosen(slices, 'web', random)?.host));
  assert.deepEqual([...hosts].sort(), ['10.0.0.1', '10.0.0.3', '10.0.0.5']);
  assert.equal(chosen(slices, 'none'), undefined);
  assert.equal(chosen([]), undefined);
});

test('of many large slices few endpoints are looked at', () => {
  let reads = 0;
  const endpoint = {
    addresses: ['10.0.0.1'],
    get conditions() {
      return (reads++, { ready: true });
    },
  };
  const slices = Array.from({ length: 200 }, () =>
    slice(
      's',
      Array.from({ length: 1000 }, () => endpoint),
    ),
  );
  assert.equal(chosen(slices)?.port, 8080);
  assert.equal(reads, 1000);
});
