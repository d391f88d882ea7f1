import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Service, ServiceSpec } from '../api/gen/core-v1.ts';
import { externalExcess } from './external-budget.ts';
import { servicePorts } from './service-map.ts';

const many = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));
const address = (index: number): string => `198.18.${index >> 8}.${index & 255}`;

function service(spec: ServiceSpec, ingress: readonly string[] = []): Service {
  const metadata = { name: 'a', namespace: 'b' };
  const status = { loadBalancer: { ingress: ingress.map((ip) => ({ ip })) } };
  return { metadata, spec: { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'], ...spec }, status };
}
const ports = (count: number): NonNullable<ServiceSpec['ports']> =>
  many(count, (index) => ({ name: `p${index}`, port: index + 1, protocol: 'TCP' }));

test('a service whose ports and external addresses multiply beyond the budget has its cluster IP alone', () => {
  const wide = service({ ports: ports(8000), externalIPs: many(8000, address) });
  assert.match(externalExcess(wide) ?? '', /64000000 elements, at most 100000/);
  const views = servicePorts(wide, [], { node: { name: 'n', zone: undefined }, family: 4 });
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
