/** Slices of thousands of endpoints, addresses and ports: their products are made when somebody asks, in part. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EndpointSlice } from '../api/gen/discovery-v1.ts';
import type { Stored } from '../api/object.ts';
import { allSteps } from '../base/steps.ts';
import { MAX_RECORDS } from './record-index.ts';
import { createZone, type MutableZone } from './zone.ts';

const NAME = 's.n.svc.cluster.local';

function zoneWithHeadless(): MutableZone {
  const zone = createZone('cluster.local');
  zone.setService({ metadata: { name: 's', namespace: 'n' }, spec: { clusterIP: 'None' } } as never);
  allSteps(zone.takeChanges());
  return zone;
}

const address = (at: number): string => `10.${(at >> 16) & 255}.${(at >> 8) & 255}.${at & 255}`;

function slice(name: string, size: { endpoints: number; addresses?: number; ports?: number }): Stored<EndpointSlice> {
  const { endpoints, addresses = 1, ports = 0 } = size;
  return {
    metadata: { name, namespace: 'n', labels: { 'kubernetes.io/service-name': 's' } },
    addressType: 'IPv4',
    endpoints: Array.from({ length: endpoints }, (_, at) => ({
      addresses: Array.from({ length: addresses }, (__, one) => address(at * addresses + one)),
    })),
    ports: Array.from({ length: ports }, (_, at) => ({ name: `p${at}`, port: at + 1, protocol: 'TCP' })),
  } as unknown as Stored<EndpointSlice>;
}

const countOf = (zone: MutableZone, name: string, type: string): number | undefined => zone.lookup(name, type)?.length;

test('endpoints are not multiplied by ports', () => {
  const zone = zoneWithHeadless();
  zone.setSlice(slice('a', { endpoints: 1000, ports: 20_000 }));
  allSteps(zone.takeChanges());
  assert.equal(countOf(zone, NAME, 'A'), 1000);
  assert.equal(countOf(zone, `_p19999._tcp.${NAME}`, 'SRV'), 1000);
  assert.equal(countOf(zone, NAME, 'SRV'), MAX_RECORDS);
  zone.removeSlice(slice('a', { endpoints: 0 }));
  allSteps(zone.takeChanges());
  assert.equal(zone.lookup(`_p19999._tcp.${NAME}`, 'SRV'), undefined);
});

test('an answer has as many records as fit, of many slices and of equal addresses', () => {
  const zone = zoneWithHeadless();
  for (let at = 0; at < 30; at++) zone.setSlice(slice(`a${at}`, { endpoints: 1000 }));
  allSteps(zone.takeChanges());
  assert.equal(countOf(zone, NAME, 'A'), 1000);
  for (let at = 0; at < 30; at++) {
    const one = slice(`b${at}`, { endpoints: 1000 });
    const endpoints = one.endpoints?.map((_, n) => ({ addresses: [address(100_000 + at * 1000 + n)] })) ?? [];
    zone.setSlice({ ...one, endpoints });
    zone.removeSlice(slice(`a${at}`, { endpoints: 0 }));
  }
  allSteps(zone.takeChanges());
  assert.equal(countOf(zone, NAME, 'A'), MAX_RECORDS);
});

test('of slices with thousands of addresses the first of each endpoint is served', () => {
  const zone = zoneWithHeadless();
  zone.setSlice(slice('a', { endpoints: 10, addresses: 100 }));
  zone.setSlice(slice('b', { endpoints: 700, addresses: 100 }));
  allSteps(zone.takeChanges());
  assert.equal(zone.reverse(address(999)).length, 1);
  assert.deepEqual(zone.reverse(address(50_001)), []);
  assert.equal(zone.reverse(address(50_000)).length, 1);
});

test('a change of one slice costs nothing of the others, and long changes are taken in steps', () => {
  const zone = zoneWithHeadless();
  for (let at = 0; at < 20; at++) zone.setSlice(slice(`a${at}`, { endpoints: 1000 }));
  let steps = 1;
  for (const work = zone.takeChanges(); work.next().done !== true;) steps++;
  assert.ok(steps >= 10, `${steps} steps`);
  assert.ok(zone.isSettled());
  zone.setSlice(slice('a7', { endpoints: 1 }));
  const work = zone.takeChanges();
  assert.equal(work.next().done, true);
  zone.setSlice(slice('a7', { endpoints: 1 }));
  assert.ok(zone.isSettled());
});

test('a service that is no longer headless has no names of endpoints', () => {
  const zone = zoneWithHeadless();
  zone.setSlice(slice('a', { endpoints: 2 }));
  allSteps(zone.takeChanges());
  const own = `${address(1).replaceAll('.', '-')}.${NAME}`;
  assert.equal(countOf(zone, own, 'A'), 1);
  const metadata = { name: 's', namespace: 'n' };
  zone.setService({ metadata, spec: { type: 'ExternalName', externalName: 'a.example' } } as never);
  allSteps(zone.takeChanges());
  assert.equal(zone.lookup(own, 'A'), undefined);
  zone.setService({ metadata, spec: { clusterIP: 'None' } } as never);
  allSteps(zone.takeChanges());
  assert.equal(countOf(zone, own, 'A'), 1);
});
