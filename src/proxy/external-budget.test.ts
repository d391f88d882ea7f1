import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Service, ServiceSpec } from '../api/gen/core-v1.ts';
import type { EndpointSlice } from '../api/gen/discovery-v1.ts';
import { allSteps } from '../base/steps.ts';
import { NO_SLOTS, servicePortElements } from './desired-rules.ts';
import { endpointExcess, endpointsPerPort, externalExcess } from './external-budget.ts';
import { endpointsOf } from './service-map.ts';
import { portsOf } from './service-port-fixture.ts';

const many = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));
const address = (index: number): string => `198.18.${index >> 8}.${index & 255}`;

function service(spec: ServiceSpec, ingress: readonly string[] = []): Service {
  const metadata = { name: 'a', namespace: 'b' };
  const status = { loadBalancer: { ingress: ingress.map((ip) => ({ ip })) } };
  return { metadata, spec: { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'], ...spec }, status };
}
const ports = (count: number): NonNullable<ServiceSpec['ports']> =>
  many(count, (index) => ({ name: `p${index}`, port: index + 1, protocol: 'TCP' }));

test('a service whose ports times external addresses exceed the budget has only its cluster IP', () => {
  const wide = service({ ports: ports(8000), externalIPs: many(8000, address) });
  assert.match(externalExcess(wide) ?? '', /64000000 elements, at most 100000/);
  const views = portsOf(wide, [], { node: { name: 'n', zone: undefined }, family: 4 });
  assert.equal(views.length, 8000);
  assert.ok(views.every(({ externalIps, clusterIp }) => externalIps.length === 0 && clusterIp === '10.0.0.1'));
});

test('source ranges count for addresses of load balancers', () => {
  const spec = { type: 'LoadBalancer', ports: ports(100) };
  const ranges = many(200, (index) => `${address(index)}/32`);
  const addresses = many(10, address);
  assert.equal(externalExcess(service(spec, addresses)), undefined);
  assert.match(externalExcess(service({ ...spec, loadBalancerSourceRanges: ranges }, addresses)) ?? '', /200000/);
});

/** Slices in which each endpoint has each port. `ready` selects ready endpoints. */
function slicesOf(of: { ports: number; endpoints: number; ready?: (index: number) => boolean }): EndpointSlice[] {
  const named = many(of.ports, (index) => ({ name: `p${index}`, port: 8080, protocol: 'TCP' }));
  const endpoints = many(of.endpoints, (index) => ({
    addresses: [address(index)],
    nodeName: index % 10 === 9 ? 'n' : 'other',
    conditions: { ready: of.ready?.(index) ?? true },
  }));
  const metadata = { name: 'a-1', namespace: 'b' };
  return many(Math.ceil(of.ports / 100), (part) => ({
    metadata,
    addressType: 'IPv4',
    endpoints,
    ports: named.slice(part * 100, part * 100 + 100),
  }));
}
const view = { node: { name: 'n', zone: undefined }, family: 4 } as const;
const chains = { family: 4, clusterCidr: '10.42.0.0/16', mark: 0x4000_0000 } as const;

for (const [what, spec, ingress] of [
  ['ports', { ports: ports(1000) }, []],
  ['ports and external addresses', { ports: ports(100), externalIPs: many(900, address) }, []],
  [
    'addresses with policy Local',
    { type: 'LoadBalancer', ports: ports(10), externalTrafficPolicy: 'Local' },
    many(1000, address),
  ],
] as const)
  test(`${what} times endpoints of a service make a bounded number of elements`, () => {
    const wide = service(spec as ServiceSpec, ingress);
    const slices = slicesOf({ ports: spec.ports.length, endpoints: 1000 });
    const views = portsOf(wide, slices, view);
    const elements = views.reduce((sum, port) => sum + servicePortElements(port, NO_SLOTS, chains).elements.length, 0);
    assert.ok(elements <= 350_000, `${elements} elements`);
    assert.ok(views.every(({ cluster }) => cluster.length === endpointsPerPort(wide)));
    assert.match(allSteps(endpointExcess(wide, slices)) ?? '', /leave room for \d+ endpoints of each port/);
  });

test('of too many endpoints the ready ones of this node are kept first, then the ready ones', () => {
  const wide = service({ ports: ports(1000) });
  const slices = slicesOf({ ports: 1000, endpoints: 1000, ready: (index) => index >= 600 });
  const [port] = portsOf(wide, slices, view);
  assert.equal(port!.cluster.length, 200);
  assert.ok(port!.cluster.every(({ ready }) => ready));
  assert.equal(port!.local.length, 40);
});

test('services of usual sizes keep all their endpoints', () => {
  const usual = service({ type: 'LoadBalancer', ports: ports(5) }, many(3, address));
  assert.equal(allSteps(endpointExcess(usual, slicesOf({ ports: 5, endpoints: 5000 }))), undefined);
});

test('slices of many ports are looked at in steps', () => {
  const usual = service({ ports: ports(1) });
  const slices = Array.from({ length: 20 }, () => slicesOf({ ports: 3000, endpoints: 1 })).flat();
  for (const work of [endpointExcess(usual, slices), endpointsOf(usual, slices, view)]) {
    let steps = 1;
    while (work.next().done !== true) steps++;
    assert.ok(steps > 10, `${steps} steps`);
  }
});
