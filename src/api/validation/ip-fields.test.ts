/** Addresses and ranges that fields accept, and old values that updates may keep. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Check, validateAll } from './complaints-fixture.ts';
import { Field } from '../field-error.ts';
import type { Endpoints, Node, Pod, Service } from '../gen/core-v1.ts';
import type { NetworkPolicy, ServiceCIDR } from '../gen/networking-v1.ts';
import { validateEndpoints } from './core-small.ts';
import { validateCidr, validateIp } from './ip-fields.ts';
import { validateNetworkPolicy, validateServiceCIDR } from './networking.ts';
import { validateNode } from './node.ts';
import { validatePodUpdate } from './pod-update.ts';
import { validateService, validateServiceStatusUpdate, validateServiceUpdate } from './service.ts';

const complaints = (check: Check, old?: object): string[] => {
  const field = Field.root(old);
  validateAll(check(field));
  return field.errors.map((error) => `${error.field}: ${error.text}`);
};

const MAPPED = 'must not be an IPv4-mapped IPv6 address';
const ips: readonly (readonly [ip: string, problem?: string])[] = [
  ['10.9.8.7'],
  ['2001:db8::ffff'],
  ['2001:0db8:0:0:0:0:0:0FFF'],
  ['10.009.8.7', 'must not have leading 0s'],
  ['::ffff:010.9.8.7', 'must not have leading 0s'],
  ['::ffff:10.9.8.7', MAPPED],
  ['::ffff:0a09:0807', MAPPED],
  ['10.9.8', 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
  ['2130706433', 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
  ['fe80::1%eth0', 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
];
const cidrs: readonly (readonly [cidr: string, problem?: string])[] = [
  ['10.9.8.0/24'],
  ['10.9.8.7/32'],
  ['0.0.0.0/0'],
  ['2001:0db8::/64'],
  ['10.009.8.0/24', 'must not have leading 0s in IP or prefix length'],
  ['10.9.8.0/024', 'must not have leading 0s in IP or prefix length'],
  ['2001:db8::/064', 'must not have leading 0s in IP or prefix length'],
  ['::ffff:10.9.8.0/120', 'must not have an IPv4-mapped IPv6 address'],
  ['10.9.8.7/24', 'must not have bits set beyond the prefix length'],
  ['2001:db8::1/64', 'must not have bits set beyond the prefix length'],
  ['10.9.8.0/33', 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'],
  ['10.9.8.0', 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'],
];

describe('new addresses and ranges must be canonical', () => {
  for (const [kind, validate, cases] of [
    ['address', validateIp, ips],
    ['range', validateCidr, cidrs],
  ] as const)
    for (const [text, problem] of cases)
      it(`${kind} ${text}: ${problem ?? 'valid'}`, () => {
        const expected = problem === undefined ? [] : [`x: Invalid value: "${text}": ${problem}`];
        assert.deepEqual(
          complaints((field) => validate(text, field.at('x'))),
          expected,
        );
      });
});

const IP = '::ffff:10.0.0.1';
const CIDR = '10.0.0.1/8';
const endpoints: Endpoints = { metadata: {}, subsets: [{ addresses: [{ ip: IP }] }] };
const node: Node = { metadata: {}, spec: { podCIDRs: [CIDR] } };
const policy: NetworkPolicy = {
  metadata: {},
  spec: { podSelector: {}, ingress: [{ from: [{ ipBlock: { cidr: CIDR, except: ['10.1.0.1/16'] } }] }] },
};
const pod: Pod = {
  metadata: { name: 'p' },
  spec: {
    containers: [
      {
        name: 'c',
        image: 'i',
        imagePullPolicy: 'Always',
        terminationMessagePolicy: 'File',
        ports: [{ containerPort: 1, hostIP: IP, protocol: 'TCP' }],
      },
    ],
    dnsPolicy: 'None',
    restartPolicy: 'Always',
    dnsConfig: { nameservers: [IP] },
    hostAliases: [{ ip: IP, hostnames: ['a'] }],
  },
};
const service: Service = {
  metadata: {},
  spec: {
    type: 'LoadBalancer',
    sessionAffinity: 'None',
    internalTrafficPolicy: 'Cluster',
    externalTrafficPolicy: 'Cluster',
    allocateLoadBalancerNodePorts: true,
    ports: [{ port: 80, protocol: 'TCP', targetPort: 80 }],
    clusterIP: IP,
    clusterIPs: [IP],
    externalIPs: [IP],
    loadBalancerSourceRanges: [CIDR],
  },
  status: { loadBalancer: { ingress: [{ ip: IP, ipMode: 'VIP' }] } },
};

const kept: readonly (readonly [
  what: string,
  old: object,
  fields: readonly string[],
  create: Check,
  update?: Check,
])[] = [
  [
    'endpoints',
    endpoints,
    ['subsets[0].addresses[0].ip'],
    (field) => validateEndpoints(endpoints, field),
    (field) => validateEndpoints(endpoints, field),
  ],
  ['a node', node, ['spec.podCIDRs[0]'], (field) => validateNode(node, field)],
  [
    'a network policy',
    policy,
    ['spec.ingress[0].from[0].ipBlock.cidr', 'spec.ingress[0].from[0].ipBlock.except[0]'],
    (field) => validateNetworkPolicy(policy, field),
    (field) => validateNetworkPolicy(policy, field),
  ],
  [
    'a pod',
    pod,
    ['spec.containers[0].ports[0].hostIP', 'spec.dnsConfig.nameservers[0]', 'spec.hostAliases[0].ip'],
    (field) => validatePodUpdate(pod, pod, field),
    (field) => validatePodUpdate(pod, pod, field),
  ],
  [
    'a service',
    service,
    ['spec.clusterIPs[0]', 'spec.externalIPs[0]', 'spec.LoadBalancerSourceRanges[0]'],
    (field) => validateService(service, field),
    (field) => validateServiceUpdate(service, service, field),
  ],
  [
    'the status of a service',
    service,
    ['status.loadBalancer.ingress[0].ip'],
    (field) => validateServiceStatusUpdate(service, service, field),
    (field) => validateServiceStatusUpdate(service, service, field),
  ],
];

describe('values from before the rules may stay', () => {
  for (const [what, old, fields, create, update] of kept)
    it(`an update of ${what} keeps old values and refuses new ones`, () => {
      const strict = /must not (be an IPv4-mapped|have bits set)/;
      const refused = complaints(create);
      assert.ok(
        refused.every((text) => strict.test(text)),
        refused.join('\n'),
      );
      assert.deepEqual(refused.map((text) => text.split(': ', 1)[0]).sort(), [...fields].sort());
      assert.deepEqual(complaints(update ?? create, old), []);
    });

  it('old values may move within their list, but not to another field', () => {
    const two = { a: [{ b: 'x' }, { b: IP }], c: IP };
    const field = Field.root(two);
    assert.deepEqual(
      [
        field.at('a').item(0).at('b').wasThere(IP),
        field.at('a').item(7).at('b').wasThere(IP),
        field.at('c').wasThere(IP),
        field.at('d').wasThere(IP),
        field.at('a').item(0).at('c').wasThere(IP),
        Field.root().at('c').wasThere(IP),
      ],
      [true, true, true, false, false, false],
    );
  });
});

describe('ranges of ServiceCIDRs are validated', () => {
  for (const [cidr, problem] of [
    ['10.0.0.0/24'],
    ['2001:db8::/64'],
    ['2001:0db8::/64', 'must be in canonical form ("2001:db8::/64")'],
    ['10.0.0.1/24', 'must not have bits set beyond the prefix length'],
  ] as const)
    it(`${cidr}: ${problem ?? 'valid'}`, () => {
      const range: ServiceCIDR = { metadata: {}, spec: { cidrs: [cidr] } };
      assert.deepEqual(
        complaints((field) => validateServiceCIDR(range, field)),
        problem === undefined ? [] : [`spec.cidrs[0]: Invalid value: "${cidr}": ${problem}`],
      );
    });
});
