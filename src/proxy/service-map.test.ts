import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Service, ServiceSpec } from '../api/gen/core-v1.ts';
import type { Endpoint, EndpointSlice } from '../api/gen/discovery-v1.ts';
import { allSteps } from '../base/steps.ts';
import { ServiceEndpoints } from './endpoints.ts';
import { reservedDestinations } from './reserved-addresses.ts';
import { disjointRanges, isProxied } from './service-map.ts';
import { portsOf } from './service-port-fixture.ts';

const here = { name: 'here', zone: 'z1' };
const view = { node: here, family: 4 } as const;

function endpoint(
  address: string,
  where: string,
  conditions: Endpoint['conditions'] = {},
  hints?: Endpoint['hints'],
): Endpoint {
  return {
    addresses: [address],
    nodeName: where,
    conditions: conditions ?? {},
    ...(hints === undefined ? {} : { hints }),
  };
}
function slice(
  endpoints: readonly Endpoint[],
  ports: EndpointSlice['ports'] = [{ name: '', port: 8080, protocol: 'TCP' }],
): EndpointSlice {
  return { metadata: { name: 's' }, addressType: 'IPv4', endpoints: [...endpoints], ports };
}

const terminating = { ready: false, serving: true, terminating: true };
const zone = (name: string): Endpoint['hints'] => ({ forZones: [{ name }] });
const node = (name: string): Endpoint['hints'] => ({ forNodes: [{ name }] });

describe('endpoints of a port', () => {
  for (const [what, slices, cluster, local] of [
    [
      'ready ones, conditions absent mean ready',
      [
        slice([
          endpoint('1.1.1.1', 'here'),
          endpoint('1.1.1.2', 'there', { ready: true }),
          endpoint('1.1.1.3', 'here', { ready: false }),
        ]),
      ],
      '1.1.1.1 1.1.1.2',
      '1.1.1.1',
    ],
    [
      'terminating ones that serve, when none is ready',
      [
        slice([
          endpoint('1.1.1.1', 'here', terminating),
          endpoint('1.1.1.2', 'there', { ...terminating, serving: false }),
        ]),
      ],
      '1.1.1.1',
      '1.1.1.1',
    ],
    [
      'not those, while one is ready',
      [slice([endpoint('1.1.1.1', 'there', terminating), endpoint('1.1.1.2', 'there')])],
      '1.1.1.2',
      '',
    ],
    [
      'terminating ones of this node, when only others are ready',
      [slice([endpoint('1.1.1.1', 'here', terminating), endpoint('1.1.1.2', 'there')])],
      '1.1.1.2',
      '1.1.1.1',
    ],
    [
      'an endpoint in two slices once, ready if either says so',
      [slice([endpoint('1.1.1.1', 'here', { ready: false })]), slice([endpoint('1.1.1.1', 'here')])],
      '1.1.1.1',
      '1.1.1.1',
    ],
    [
      'none of another port name or protocol',
      [
        slice(
          [endpoint('1.1.1.1', 'here')],
          [
            { name: 'x', port: 1, protocol: 'TCP' },
            { name: '', port: 2, protocol: 'UDP' },
          ],
        ),
      ],
      '',
      '',
    ],
    ['none of another family', [{ ...slice([endpoint('fd00::1', 'here')]), addressType: 'IPv6' }], '', ''],
    [
      'those of the zone, when all have hints',
      [slice([endpoint('1.1.1.1', 'there', {}, zone('z1')), endpoint('1.1.1.2', 'there', {}, zone('z2'))])],
      '1.1.1.1',
      '',
    ],
    [
      'all, when one lacks a hint',
      [slice([endpoint('1.1.1.1', 'there', {}, zone('z1')), endpoint('1.1.1.2', 'there')])],
      '1.1.1.1 1.1.1.2',
      '',
    ],
    [
      'all, when no hint is for here',
      [slice([endpoint('1.1.1.1', 'there', {}, zone('z2')), endpoint('1.1.1.2', 'there', {}, zone('z3'))])],
      '1.1.1.1 1.1.1.2',
      '',
    ],
    [
      'those of the node before those of the zone',
      [
        slice([
          endpoint('1.1.1.1', 'here', {}, { ...zone('z1'), ...node('here') }),
          endpoint('1.1.1.2', 'there', {}, { ...zone('z1'), ...node('there') }),
        ]),
      ],
      '1.1.1.1',
      '1.1.1.1',
    ],
  ] as const) {
    it(what, () => {
      const found = allSteps(ServiceEndpoints.of([...slices] as EndpointSlice[], view)).ofPort({
        name: '',
        protocol: 'TCP',
      });
      assert.deepEqual(
        [found.cluster, found.local].map((list) => list.map((e) => e.address).join(' ')),
        [cluster, local],
      );
    });
  }
});

it('serving endpoints are listed, also those that are not chosen', () => {
  const endpoints = slice([
    endpoint('1.1.1.1', 'here', terminating),
    endpoint('1.1.1.2', 'there', { ready: true }),
    endpoint('1.1.1.3', 'there', { ready: false }),
    endpoint('1.1.1.4', 'there', { ready: false, serving: false, terminating: true }),
  ]);
  const found = allSteps(ServiceEndpoints.of([endpoints], view)).ofPort({ name: '', protocol: 'TCP' });
  assert.deepEqual(found.serving, ['1.1.1.1', '1.1.1.2']);
  assert.deepEqual(found.local, [{ address: '1.1.1.1', port: 8080, local: true, ready: false }]);
});

function service(spec: Partial<ServiceSpec>, ingress: readonly { ip: string; ipMode?: string }[] = []): Service {
  return {
    metadata: { namespace: 'ns', name: 'web' },
    spec: {
      type: 'ClusterIP',
      clusterIP: '10.43.0.5',
      clusterIPs: ['10.43.0.5'],
      ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
      ...spec,
    },
    status: { loadBalancer: { ingress: [...ingress] } },
  };
}

describe('ports of a service', () => {
  it('reads addresses, policies, affinity and ranges', () => {
    const [port] = portsOf(
      service(
        {
          type: 'LoadBalancer',
          clusterIPs: ['10.43.0.5', 'fd00::5'],
          externalIPs: ['192.0.2.9', 'fd00::9', '192.0.2.8'],
          ports: [{ name: 'http', port: 80, protocol: 'TCP', nodePort: 30080 }],
          sessionAffinity: 'ClientIP',
          externalTrafficPolicy: 'Local',
          internalTrafficPolicy: 'Local',
          loadBalancerSourceRanges: ['10.0.0.0/8', ' 10.1.0.0/16', 'fd00::/8'],
        },
        [{ ip: '192.0.2.8' }, { ip: '192.0.2.7', ipMode: 'Proxy' }],
      ),
      [],
      view,
    );
    assert.deepEqual(port, {
      name: 'ns/web:http',
      protocol: 'tcp',
      port: 80,
      nodePort: 30080,
      clusterIp: '10.43.0.5',
      externalIps: ['192.0.2.9'],
      loadBalancerIps: ['192.0.2.8'],
      sourceRanges: ['10.0.0.0/8'],
      affinitySeconds: 10_800,
      internalLocal: true,
      externalLocal: true,
      cluster: [],
      local: [],
      serving: [],
    });
  });

  it('has none in a family the service has no address in', () =>
    assert.deepEqual(portsOf(service({}), [], { ...view, family: 6 }), []));

  it('has none at the address of cluster DNS of our own, which a service stored earlier may hold', () => {
    const at = (ownDns?: string) => ({ ...view, node: { ...view.node, ownDns } });
    const external = service({ clusterIPs: ['10.43.0.10'], type: 'NodePort', ports: [{ port: 53, nodePort: 30053 }] });
    assert.deepEqual(portsOf(external, [], at('10.43.0.10')), []);
    assert.equal(portsOf(external, [], at()).length, 1);
    assert.equal(portsOf(service({}), [], at('10.43.0.10')).length, 1);
  });

  const apiServer: EndpointSlice = {
    metadata: { namespace: 'default', name: 'kubernetes' },
    addressType: 'IPv4',
    ports: [{ port: 6443, protocol: 'TCP' }],
    endpoints: [{ addresses: ['192.0.2.1'] }],
  };
  const isReserved = reservedDestinations('10.43.0.0/16,fd00:43::/112', [apiServer]);
  const claims: readonly [about: string, ip: string, port: number, protocol: string, served: boolean][] = [
    ['another address', '192.0.2.9', 53, 'UDP', true],
    ['the DNS address', '10.43.0.10', 53, 'UDP', false],
    ['the DNS address by TCP', '10.43.0.10', 53, 'TCP', false],
    ['an address of the service range', '10.43.200.1', 80, 'TCP', false],
    ['the range in IPv6', 'fd00:43:0::a', 53, 'UDP', false],
    ['the range in IPv6, mapped or not', 'fd00:43:0:0:0:0:0:a', 53, 'SCTP', false],
    ["the API server's endpoint", '192.0.2.1', 6443, 'TCP', false],
    ["another port of the API server's address", '192.0.2.1', 80, 'TCP', true],
    ["another protocol of the API server's endpoint", '192.0.2.1', 6443, 'UDP', true],
  ];
  for (const [about, ip, port, protocol, served] of claims)
    it(`an external address and one of a load balancer at ${about} are ${served ? '' : 'not '}served`, () => {
      const family = ip.includes(':') ? 6 : 4;
      const clusterIPs = ['10.43.0.5', 'fd00:43::5'];
      const ports = [{ port, protocol }];
      const reserved = { ...view, family, isReserved } as const;
      const [external] = portsOf(service({ clusterIPs, ports, externalIPs: [ip] }), [], reserved);
      assert.equal(external?.externalIps.length, served ? 1 : 0);
      const [balanced] = portsOf(service({ type: 'LoadBalancer', clusterIPs, ports }, [{ ip }]), [], reserved);
      assert.equal(balanced?.loadBalancerIps.length, served ? 1 : 0);
    });

  it('ignores node ports and load balancers of other types', () => {
    const [port] = portsOf(service({ ports: [{ port: 80, nodePort: 30080 }] }, [{ ip: '192.0.2.8' }]), [], view);
    assert.deepEqual([port?.nodePort, port?.loadBalancerIps, port?.name], [0, [], 'ns/web']);
  });

  for (const [what, spec, labels, expected] of [
    ['headless', { clusterIP: 'None', clusterIPs: ['None'] }, {}, false],
    ['not yet allocated', { clusterIP: '', clusterIPs: [] }, {}, false],
    ['an external name', { type: 'ExternalName' }, {}, false],
    ['of another proxy', {}, { 'service.kubernetes.io/service-proxy-name': 'x' }, false],
    ['labelled headless', {}, { 'service.kubernetes.io/headless': '' }, false],
    ['plain', {}, {}, true],
  ] as const) {
    it(`is ${expected ? '' : 'not '}proxied when ${what}`, () => {
      const made = service(spec as Partial<ServiceSpec>);
      assert.equal(isProxied({ ...made, metadata: { ...made.metadata, labels } }), expected);
    });
  }
});

describe('source ranges', () => {
  for (const [ranges, expected] of [
    [
      ['10.1.0.0/16', '10.0.0.0/8', '192.0.2.1/32'],
      ['10.0.0.0/8', '192.0.2.1/32'],
    ],
    [['10.0.0.0/8', '0.0.0.0/0'], []],
    [['10.0.0.5/24', '10.0.0.9/24', 'nonsense'], ['10.0.0.0/24']],
    [
      ['10.0.0.0/25', '10.0.0.128/25'],
      ['10.0.0.0/25', '10.0.0.128/25'],
    ],
  ] as const) {
    it(ranges.join(' '), () => assert.deepEqual(disjointRanges(ranges, 4), expected));
  }
});
