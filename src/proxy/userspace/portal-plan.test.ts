import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { HostPortView } from '../host-port-rules.ts';
import type { ServicePortView } from '../service-map.ts';
import { port, there } from '../service-port-fixture.ts';
import { type Fronts, planPortals, type PortalPlan } from './portal-plan.ts';

function lines(plan: PortalPlan): string[] {
  const of = ({ portals, outside, unserved, droppedOutside }: Fronts): string[] => [
    ...[...portals].map(([key, to]) => `${key} → ${to}`),
    ...[...outside].map(([key, to]) => `outside: ${key} → ${to}`),
    ...[...unserved].map(([key, verdict]) => `${key}: ${verdict}`),
    ...[...droppedOutside].map((key) => `outside: ${key}: drop`),
  ];
  return [
    ...[...plan.portals].map(
      ([name, { targets, affinitySeconds }]) =>
        `${name}: ${targets.map((t) => t.address).join(' ')}${affinitySeconds > 0 ? ` for ${affinitySeconds} s` : ''}`,
    ),
    ...of(plan.addresses),
    ...of(plan.nodePorts),
    ...[...plan.hostPorts, ...plan.hostAddresses].map(([key, to]) => `host: ${key} → ${to}`),
    ...[...plan.firewalled].map((key) => `firewalled: ${key}`),
    ...[...plan.allowedSources].map((key) => `allowed: ${key}`),
    ...plan.unsupported.map((name) => `unsupported: ${name}`),
  ];
}

const ANYWHERE = 'tcp ns/web cluster: 10.42.0.2 10.42.1.3';
const HERE = 'tcp ns/web local: 10.42.0.2';

describe('the plan of portals', () => {
  const cases: readonly [string, Partial<ServicePortView>, readonly string[]][] = [
    [
      'a cluster address',
      { affinitySeconds: 60 },
      [`${ANYWHERE} for 60 s`, '10.43.0.5 . tcp . 80 → tcp ns/web cluster'],
    ],
    ['internal policy Local', { internalLocal: true }, [HERE, '10.43.0.5 . tcp . 80 → tcp ns/web local']],
    [
      'internal policy Local, none here',
      { internalLocal: true, cluster: [there], local: [] },
      ['10.43.0.5 . tcp . 80: drop'],
    ],
    [
      'no endpoints',
      { cluster: [], local: [], nodePort: 30_080, externalLocal: true, internalLocal: true },
      ['10.43.0.5 . tcp . 80: goto refuse', 'tcp . 30080: goto refuse'],
    ],
    [
      'from outside',
      { nodePort: 30_080, externalIps: ['192.0.2.9'] },
      [
        ANYWHERE,
        '10.43.0.5 . tcp . 80 → tcp ns/web cluster',
        '192.0.2.9 . tcp . 80 → tcp ns/web cluster',
        'tcp . 30080 → tcp ns/web cluster',
      ],
    ],
    [
      'external policy Local',
      { nodePort: 30_080, externalLocal: true },
      [
        ANYWHERE,
        HERE,
        '10.43.0.5 . tcp . 80 → tcp ns/web cluster',
        'tcp . 30080 → tcp ns/web cluster',
        'outside: tcp . 30080 → tcp ns/web local',
      ],
    ],
    [
      'external policy Local, none here',
      { nodePort: 30_080, loadBalancerIps: ['192.0.2.8'], externalLocal: true, cluster: [there], local: [] },
      [
        'tcp ns/web cluster: 10.42.1.3',
        '10.43.0.5 . tcp . 80 → tcp ns/web cluster',
        '192.0.2.8 . tcp . 80 → tcp ns/web cluster',
        'outside: 192.0.2.8 . tcp . 80: drop',
        'tcp . 30080 → tcp ns/web cluster',
        'outside: tcp . 30080: drop',
      ],
    ],
    [
      'source ranges',
      { loadBalancerIps: ['192.0.2.8'], sourceRanges: ['10.0.0.0/8'] },
      [
        ANYWHERE,
        '10.43.0.5 . tcp . 80 → tcp ns/web cluster',
        '192.0.2.8 . tcp . 80 → tcp ns/web cluster',
        'firewalled: 192.0.2.8 . tcp . 80',
        'allowed: 192.0.2.8 . tcp . 80 . 10.0.0.0/8',
      ],
    ],
    [
      'SCTP is refused',
      { protocol: 'sctp', nodePort: 30_080, internalLocal: true },
      ['10.43.0.5 . sctp . 80: goto refuse', 'sctp . 30080: goto refuse', 'unsupported: ns/web'],
    ],
  ];
  for (const [what, changes, expected] of cases)
    it(what, () => assert.deepEqual(lines(planPortals({ ports: [port(changes)], hostPorts: [] })), expected));

  it('host ports, and the first of two that want the same', () => {
    const hostPort = (changes: Partial<HostPortView>): HostPortView => ({
      hostIp: '',
      hostPort: 8000,
      protocol: 'udp',
      podIp: '10.42.0.9',
      containerPort: 80,
      ...changes,
    });
    const services = [
      port({ nodePort: 8000, protocol: 'udp' }),
      port({ name: 'ns/other', nodePort: 0, protocol: 'udp' }),
    ];
    const hostPorts = [hostPort({}), hostPort({ hostIp: '192.0.2.1' }), hostPort({ protocol: 'sctp' })];
    assert.deepEqual(
      lines(planPortals({ ports: services, hostPorts })).filter((line) => line.includes('→') || line.includes('un')),
      [
        '10.43.0.5 . udp . 80 → udp ns/web cluster',
        'udp . 8000 → udp ns/web cluster',
        'host: udp . 8000 → host udp :8000',
        'host: 192.0.2.1 . udp . 8000 → host udp 192.0.2.1:8000',
        'unsupported: host sctp :8000',
      ],
    );
  });
});
