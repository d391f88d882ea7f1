/** Paths that name thousands of ports of services with thousands of endpoints. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Service } from '../../api/gen/core-v1.ts';
import type { EndpointSlice } from '../../api/gen/discovery-v1.ts';
import { ServiceBackends } from './service-backend.ts';

const PORTS = 30_000;
const times = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));
const ports = times(PORTS, (at) => ({ name: `p${at}`, port: at + 1 }));
const service: Service = { metadata: { name: 's' }, spec: { ports } };
const sliceOf = (endpoints: number): EndpointSlice => ({
  metadata: { name: 'x' },
  addressType: 'IPv4',
  ports,
  endpoints: times(endpoints, (at) => ({ addresses: [`10.0.${at >> 8}.${at & 255}`] })),
});

function backendsOf(endpoints: number): ServiceBackends {
  const slices = [sliceOf(endpoints)];
  return new ServiceBackends({ service: () => service, slicesOf: () => slices, secret: () => undefined });
}

test('ports are looked up by name and number', () => {
  const backends = backendsOf(1);
  for (const [at, { name }] of ports.entries()) {
    const byName = backends.resolve({ namespace: 'ns', name: 's', port: { name } }, 'ns');
    const byNumber = backends.resolve({ namespace: 'ns', name: 's', port: { number: at + 1 } }, 'ns');
    assert.ok(byName.problem === undefined && byNumber.problem === undefined);
    assert.deepEqual(byName.backend.endpoints, [{ address: '10.0.0.0', port: at + 1 }]);
    assert.equal(byName.key, byNumber.key);
  }
});

test('endpoints are collected for a bounded number of ports of a namespace', () => {
  const backends = backendsOf(1000);
  const reasons = ports
    .slice(0, 600)
    .map(({ name }) => backends.resolve({ namespace: 'ns', name: 's', port: { name } }, 'ns').problem?.reason);
  assert.deepEqual(
    [reasons[0], reasons[499], reasons[500], reasons[599]],
    [undefined, undefined, ...times(2, () => 'ResourceLimitExceeded')],
  );
  assert.equal(backends.resolve({ namespace: 'other', name: 's', port: { number: 1 } }, 'other').problem, undefined);
});

test('ports that do not exist cost no endpoints', () => {
  const backends = backendsOf(1000);
  const resolve = (number: number) => backends.resolve({ namespace: 'ns', name: 's', port: { number } }, 'ns').problem;
  for (let at = 1; at <= 600; at++) assert.equal(resolve(PORTS + at)?.reason, 'BackendNotFound');
  assert.equal(resolve(1), undefined);
});

test('endpoints count for the namespace of the routes, not for that of the service', () => {
  const backends = backendsOf(1000);
  const resolve = (number: number, owner: string) =>
    backends.resolve({ namespace: 'ns', name: 's', port: { number } }, owner).problem?.reason;
  const reasons = times(600, (at) => resolve(at + 1, 'guest'));
  assert.deepEqual([reasons[499], reasons[500]], [undefined, 'ResourceLimitExceeded']);
  assert.equal(resolve(501, 'ns'), undefined);
  assert.equal(resolve(501, 'guest'), undefined, 'a backend that others have is shared');
});
