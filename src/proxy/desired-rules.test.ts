import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../api/gen/core-v1.ts';
import { localPolicyChain, endpointChain } from './chains.ts';
import { type Element, NO_SLOTS, servicePortElements } from './desired-rules.ts';
import { hostPortElements } from './host-port-rules.ts';
import type { ServicePortView } from './service-map.ts';
import { here, port, there } from './service-port-fixture.ts';
import { staleFlows } from './conntrack.ts';

const context = { family: 4, clusterCidr: '10.42.0.0/16', mark: 0x4001_0000 } as const;

const texts = (elements: readonly Element[]): string[] =>
  elements.map((e) => `${e.set}: ${e.key}${e.value === '' ? '' : ` → ${e.value}`}`);
const slots = (front: string, first: number): string[] =>
  [here, there].map((e, i) => `${front} . 0x${(first + i).toString(16)} → ${e.address} . 8080`);
const HAIRPIN = 'hairpin: 10.42.0.2 . 10.42.0.2';

describe('elements of a service port', () => {
  const cases: readonly [string, Partial<ServicePortView>, readonly string[]][] = [
    [
      'cluster address',
      {},
      ['services: 10.43.0.5 . tcp . 80 → goto pick-2', ...slots('endpoints: 10.43.0.5 . tcp . 80', 1), HAIRPIN],
    ],
    [
      'SCTP as the others',
      { protocol: 'sctp', nodePort: 30080, cluster: [there], local: [], externalIps: ['192.0.2.9'] },
      [
        'services: 10.43.0.5 . sctp . 80 → goto pick-1',
        'endpoints: 10.43.0.5 . sctp . 80 . 0x1 → 10.42.1.3 . 8080',
        'services: 192.0.2.9 . sctp . 80 → goto pick-1-masq',
        'endpoints: 192.0.2.9 . sctp . 80 . 0x40010001 → 10.42.1.3 . 8080',
        'nodeports: sctp . 30080 → goto node-1-masq',
        'nodeport-endpoints: sctp . 30080 . 0x40010001 → 10.42.1.3 . 8080',
      ],
    ],
    ['no endpoints: refused', { cluster: [], local: [] }, ['no-endpoints: 10.43.0.5 . tcp . 80 → goto refuse']],
    [
      'internal policy Local: those here',
      { internalLocal: true },
      [
        'services: 10.43.0.5 . tcp . 80 → goto pick-1',
        'endpoints: 10.43.0.5 . tcp . 80 . 0x1 → 10.42.0.2 . 8080',
        HAIRPIN,
      ],
    ],
    [
      'internal policy Local, none here: dropped',
      { internalLocal: true, cluster: [there], local: [] },
      ['no-endpoints: 10.43.0.5 . tcp . 80 → drop'],
    ],
    [
      'affinity',
      { affinitySeconds: 60, cluster: [there], local: [] },
      [
        'services: 10.43.0.5 . tcp . 80 → goto pick-1-sticky-60',
        'endpoints: 10.43.0.5 . tcp . 80 . 0x1 → 10.42.1.3 . 8080',
      ],
    ],
    [
      'node port: masqueraded',
      { nodePort: 30080, cluster: [there], local: [] },
      [
        'services: 10.43.0.5 . tcp . 80 → goto pick-1',
        'endpoints: 10.43.0.5 . tcp . 80 . 0x1 → 10.42.1.3 . 8080',
        'nodeports: tcp . 30080 → goto node-1-masq',
        'nodeport-endpoints: tcp . 30080 . 0x40010001 → 10.42.1.3 . 8080',
      ],
    ],
    [
      'node port without endpoints',
      { nodePort: 30080, cluster: [], local: [] },
      ['no-endpoints: 10.43.0.5 . tcp . 80 → goto refuse', 'no-endpoint-nodeports: tcp . 30080 → goto refuse'],
    ],
    [
      'external address with policy Local',
      { externalLocal: true, externalIps: ['192.0.2.9'], protocol: 'udp' },
      [
        'services: 10.43.0.5 . udp . 80 → goto pick-2',
        ...slots('endpoints: 10.43.0.5 . udp . 80', 1),
        'services: 192.0.2.9 . udp . 80 → goto policy-address-2-1',
        ...slots('endpoints: 192.0.2.9 . udp . 80', 1),
        ...slots('endpoints: 192.0.2.9 . udp . 80', 0x4001_0001),
        'endpoints: 192.0.2.9 . udp . 80 . 0x8001 → 10.42.0.2 . 8080',
        HAIRPIN,
      ],
    ],
    [
      'guarded load balancer',
      { loadBalancerIps: ['192.0.2.8'], sourceRanges: ['10.0.0.0/8'], cluster: [], local: [] },
      [
        'no-endpoints: 10.43.0.5 . tcp . 80 → goto refuse',
        'no-endpoints: 192.0.2.8 . tcp . 80 → goto refuse',
        'firewalled: 192.0.2.8 . tcp . 80',
        'allowed-sources: 192.0.2.8 . tcp . 80 . 10.0.0.0/8',
      ],
    ],
  ];
  for (const [what, changes, expected] of cases) {
    it(what, () => assert.deepEqual(texts(servicePortElements(port(changes), NO_SLOTS, context).elements), expected));
  }

  it('the removal of an endpoint moves no other one of many', () => {
    const many = Array.from({ length: 50 }, (_, i) => ({
      address: `10.42.2.${i}`,
      port: 80,
      local: false,
      ready: true,
    }));
    const before = servicePortElements(port({ cluster: many, local: [] }), NO_SLOTS, context);
    const after = servicePortElements(port({ cluster: many.toSpliced(10, 1), local: [] }), before.slots, context);
    const was = new Set(texts(before.elements));
    assert.deepEqual(
      texts(after.elements).filter((text) => !was.has(text)),
      ['services: 10.43.0.5 . tcp . 80 → goto pick-49', 'endpoints: 10.43.0.5 . tcp . 80 . 0xb → 10.42.2.49 . 80'],
    );
  });
});

describe('chains', () => {
  const pick = { scope: 'node', list: 'cluster', count: 3, affinitySeconds: 60, masquerade: true } as const;
  it('pick with affinity and the mark for masquerading', () => {
    assert.deepEqual(endpointChain(pick, context).rules, [
      `meta mark set numgen random mod 3 offset ${0x4001_0001}`,
      'meta mark set ip saddr . ip daddr . meta l4proto . th dport map @affinity',
      'update @affinity { ip saddr . ip daddr . meta l4proto . th dport timeout 60s : meta mark }',
      'dnat ip to meta l4proto . th dport . meta mark map @nodeport-endpoints',
    ]);
  });
  it('drop external traffic with policy Local where there is no endpoint', () => {
    assert.deepEqual(localPolicyChain({ ...pick, affinitySeconds: 0, masquerade: false }, 0, context).rules, [
      'ip saddr 10.42.0.0/16 goto node-3',
      'fib saddr type local goto node-3-masq',
      'drop',
    ]);
  });
});

describe('host ports', () => {
  const pod = (status: Pod['status'] = { podIP: '10.42.0.9', phase: 'Running' }, hostNetwork = false): Pod => ({
    metadata: { namespace: 'ns', name: 'p' },
    spec: {
      hostNetwork,
      containers: [
        {
          name: 'a',
          ports: [
            { containerPort: 80, hostPort: 8000 },
            { containerPort: 53, hostPort: 53, protocol: 'UDP', hostIP: '192.0.2.1' },
            { containerPort: 9 },
          ],
        },
      ],
      initContainers: [
        {
          name: 's',
          restartPolicy: 'Always',
          ports: [
            { containerPort: 81, hostPort: 8001, hostIP: '0.0.0.0' },
            { containerPort: 82, hostPort: 8002, hostIP: '::' },
          ],
        },
        { name: 'i', ports: [{ containerPort: 1, hostPort: 1 }] },
      ],
    },
    ...(status === undefined ? {} : { status }),
  });
  it('lead to the pod, from all addresses or from one', () => {
    assert.deepEqual(texts(hostPortElements(pod(), context)), [
      'hostports: tcp . 8000 → goto host-1',
      'hostport-endpoints: tcp . 8000 . 0x1 → 10.42.0.9 . 80',
      'hostaddresses: 192.0.2.1 . udp . 53 → goto host-address-1',
      'hostaddress-endpoints: 192.0.2.1 . udp . 53 . 0x1 → 10.42.0.9 . 53',
      'hostports: tcp . 8001 → goto host-1',
      'hostport-endpoints: tcp . 8001 . 0x1 → 10.42.0.9 . 81',
      'hairpin: 10.42.0.9 . 10.42.0.9',
    ]);
  });
  it('that the host itself serves are left to it, by TCP alone', () => {
    const own = { ...context, ownTcpPorts: [8000, 8001, 53] };
    assert.deepEqual(texts(hostPortElements(pod(), own)), [
      'hostaddresses: 192.0.2.1 . udp . 53 → goto host-address-1',
      'hostaddress-endpoints: 192.0.2.1 . udp . 53 . 0x1 → 10.42.0.9 . 53',
      'hairpin: 10.42.0.9 . 10.42.0.9',
    ]);
  });
  it('of loopback addresses: those of IPv4, where they are routed', () => {
    const [at4, at6]: [Pod, Pod] = [pod(), pod({ podIP: 'fd00:42::9', phase: 'Running' })];
    for (const one of [at4, at6])
      for (const port of one.spec?.containers[0]?.ports ?? [])
        Object.assign(port, { hostIP: one === at4 ? '127.0.0.1' : '::1' });
    const of4 = texts(hostPortElements(at4, { ...context, loopbackHostPorts: true }));
    assert.deepEqual(of4.slice(0, 2), [
      'hostaddresses: 127.0.0.1 . tcp . 8000 → goto host-address-1',
      'hostaddress-endpoints: 127.0.0.1 . tcp . 8000 . 0x1 → 10.42.0.9 . 80',
    ]);
    assert.doesNotMatch(texts(hostPortElements(at4, context)).join('\n'), /127\.0/);
    const of6 = texts(hostPortElements(at6, { ...context, family: 6, loopbackHostPorts: true }));
    assert.equal(of6[0], 'hostports: tcp . 8002 → goto host-1');
    assert.doesNotMatch(of6.join('\n'), /::1 \./);
  });
  it('end with the pod, and are none of the host network', () => {
    for (const ended of [
      pod({ podIP: '10.42.0.9', phase: 'Succeeded' }),
      pod({ phase: 'Pending' }),
      pod(undefined, true),
    ])
      assert.deepEqual(hostPortElements(ended, context), []);
  });
});

describe('stale UDP flows', () => {
  const udp = (changes: Partial<ServicePortView>): ServicePortView => port({ protocol: 'udp', port: 53, ...changes });
  for (const [what, before, after, expected] of [
    [
      'an endpoint that went',
      [udp({ nodePort: 30053, externalIps: ['192.0.2.9'] })],
      [udp({ nodePort: 30053, cluster: [there], local: [] })],
      [
        '--orig-dst 10.43.0.5 --orig-port-dst 53 --dst-nat 10.42.0.2',
        '--orig-dst 192.0.2.9 --orig-port-dst 53 --dst-nat 10.42.0.2',
        '--orig-port-dst 30053 --dst-nat 10.42.0.2',
      ],
    ],
    [
      'a service that went',
      [udp({ cluster: [there], local: [] })],
      [],
      ['--orig-dst 10.43.0.5 --orig-port-dst 53 --dst-nat 10.42.1.3'],
    ],
    [
      'a node port that got its first endpoint',
      [udp({ nodePort: 30053, cluster: [], local: [] })],
      [udp({ nodePort: 30053 })],
      ['--orig-port-dst 30053'],
    ],
    [
      'not one that still serves, though it takes nothing new',
      [udp({ serving: [here.address, there.address] })],
      [udp({ cluster: [there], local: [], serving: [here.address, there.address] })],
      [],
    ],
    [
      'but when that one serves no more',
      [udp({ cluster: [there], local: [], serving: [here.address, there.address] })],
      [udp({ cluster: [there], local: [], serving: [there.address] })],
      ['--orig-dst 10.43.0.5 --orig-port-dst 53 --dst-nat 10.42.0.2'],
    ],
    ['TCP knows its ends', [port()], [], []],
    ['nothing changed', [udp({})], [udp({})], []],
  ] as const) {
    it(what, () => assert.deepEqual([...new Set(staleFlows(before, after).map((f) => f.join(' ')))], expected));
  }

  it('of many ports, addresses and endpoints are removed by a bounded number of programs', () => {
    const numbers = Array.from({ length: 300 }, (_, at) => at);
    const cluster = numbers.map((at) => ({ ...there, address: `10.42.${at >> 8}.${at & 255}` }));
    const wide = numbers.map((at) => udp({ port: at + 1, nodePort: 30_000 + at, externalIps: ['192.0.2.9'], cluster }));
    const filters = staleFlows(wide, []).map((filter) => filter.join(' '));
    assert.equal(filters.length, 900);
    assert.deepEqual(filters.slice(0, 3), [
      '--orig-dst 10.43.0.5 --orig-port-dst 1',
      '--orig-dst 192.0.2.9 --orig-port-dst 1',
      '--orig-port-dst 30000',
    ]);
    const addresses = numbers.map((at) => `198.18.${at >> 8}.${at & 255}`);
    const wider = wide.map((each) => ({ ...each, externalIps: addresses }));
    assert.equal(staleFlows(wider, []).length, 1000);
  });
});
