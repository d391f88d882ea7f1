import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import type { HostPortView } from '../host-port-rules.ts';
import type { ServicePortView } from '../service-map.ts';
import { here, port } from '../service-port-fixture.ts';
import { iptablesRemoval } from './fixed-chains.ts';
import { iptablesRules } from './iptables-rules.ts';

const config = {
  family: 4,
  clusterCidr: '10.42.0.0/16',
  serviceCidr: '10.43.0.0/16',
  sha256: (text: string): Uint8Array => createHash('sha256').update(text).digest(),
} as const;

/** The rules about services, with chains' hashes cut off and comments away. */
function rulesOf(changes: Partial<ServicePortView>): string[] {
  const fixed = new Set(iptablesRules({ ports: [], hostPorts: [], presentChains: [] }, config).split('\n'));
  return iptablesRules({ ports: [port(changes)], hostPorts: [], presentChains: [] }, config)
    .split('\n')
    .filter((line) => line.startsWith('-A') && !fixed.has(line))
    .map((line) => line.replaceAll(/(KUBE-\w{2,3})-[A-Z2-7]{16}/g, '$1').replace(/-m comment --comment "[^"]*" /, ''));
}

const front = (protocol: string, ip = '10.43.0.5'): string => `-d ${ip}/32 -p ${protocol} -m ${protocol} --dport 80`;
const endpoint = (protocol: string, address: string, remember = ''): string[] => [
  `-A KUBE-SEP -s ${address}/32 -j KUBE-MARK-MASQ`,
  `-A KUBE-SEP -p ${protocol} -m ${protocol} ${remember}-j DNAT --to-destination ${address}:8080`,
];
const balance = (
  protocol: string,
  kind = 'SVC',
  addresses: readonly string[] = ['10.42.0.2', '10.42.1.3'],
): string[] => [
  `-A KUBE-${kind} ! -s 10.42.0.0/16 ${front(protocol)} -j KUBE-MARK-MASQ`,
  ...addresses.flatMap((address) => endpoint(protocol, address)),
  ...(addresses.length === 2
    ? [`-A KUBE-${kind} -m statistic --mode random --probability 0.5000000000 -j KUBE-SEP`]
    : []),
  `-A KUBE-${kind} -j KUBE-SEP`,
];

describe('the iptables rules of a service port', () => {
  for (const protocol of ['tcp', 'udp', 'sctp'] as const)
    it(`${protocol}: cluster address and node port`, () =>
      assert.deepEqual(rulesOf({ protocol, nodePort: 30_080 }), [
        ...balance(protocol),
        `-A KUBE-SERVICES ${front(protocol)} -j KUBE-SVC`,
        '-A KUBE-EXT -j KUBE-MARK-MASQ',
        '-A KUBE-EXT -j KUBE-SVC',
        `-A KUBE-NODEPORTS -p ${protocol} -m ${protocol} --dport 30080 -j KUBE-EXT`,
      ]));

  const nodePort = (protocol: string, chain: string, verdict: string): string =>
    `-A ${chain} -m addrtype --dst-type LOCAL -p ${protocol} -m ${protocol} --dport 30080 -j ${verdict}`;
  for (const [what, changes, expected] of [
    [
      'no endpoints: refused',
      { protocol: 'sctp', nodePort: 30_080, cluster: [], local: [] },
      [`-A KUBE-SERVICES ${front('sctp')} -j REJECT`, nodePort('sctp', 'KUBE-EXTERNAL-SERVICES', 'REJECT')],
    ],
    [
      'internal policy Local: those here',
      { internalLocal: true },
      [...balance('tcp', 'SVL', ['10.42.0.2']), `-A KUBE-SERVICES ${front('tcp')} -j KUBE-SVL`],
    ],
    [
      'internal policy Local, none here: dropped',
      { internalLocal: true, local: [] },
      [`-A KUBE-SERVICES ${front('tcp')} -j DROP`],
    ],
    [
      'external policy Local: the client address is kept, but for clients here',
      { externalLocal: true, externalIps: ['192.0.2.9'], cluster: [here] },
      [
        ...balance('tcp', 'SVC', ['10.42.0.2']),
        `-A KUBE-SERVICES ${front('tcp')} -j KUBE-SVC`,
        '-A KUBE-EXT -s 10.42.0.0/16 -j KUBE-SVC',
        '-A KUBE-EXT -m addrtype --src-type LOCAL -j KUBE-MARK-MASQ',
        '-A KUBE-EXT -m addrtype --src-type LOCAL -j KUBE-SVC',
        `-A KUBE-SVL ! -s 10.42.0.0/16 ${front('tcp')} -j KUBE-MARK-MASQ`,
        '-A KUBE-SVL -j KUBE-SEP',
        '-A KUBE-EXT -j KUBE-SVL',
        `-A KUBE-SERVICES ${front('tcp', '192.0.2.9')} -j KUBE-EXT`,
      ],
    ],
    [
      'source ranges: the others are dropped',
      { loadBalancerIps: ['192.0.2.8'], sourceRanges: ['198.51.100.0/24'], cluster: [here], local: [] },
      [
        `-A KUBE-PROXY-FIREWALL ${front('tcp', '192.0.2.8')} -j DROP`,
        ...balance('tcp', 'SVC', ['10.42.0.2']),
        `-A KUBE-SERVICES ${front('tcp')} -j KUBE-SVC`,
        '-A KUBE-EXT -j KUBE-MARK-MASQ',
        '-A KUBE-EXT -j KUBE-SVC',
        '-A KUBE-FW -s 198.51.100.0/24 -j KUBE-EXT',
        `-A KUBE-SERVICES ${front('tcp', '192.0.2.8')} -j KUBE-FW`,
      ],
    ],
  ] as const)
    it(what, () => assert.deepEqual(rulesOf(changes as Partial<ServicePortView>).toSorted(), expected.toSorted()));

  it("affinity: a client's former endpoint comes first", () => {
    const rules = rulesOf({ affinitySeconds: 60, cluster: [here] });
    const recent = '-m recent --name KUBE-SEP';
    assert.deepEqual(rules.slice(1, 5), [
      ...endpoint('tcp', '10.42.0.2', `${recent} --set `),
      `-A KUBE-SVC ${recent} --rcheck --seconds 60 --reap -j KUBE-SEP`,
      '-A KUBE-SVC -j KUBE-SEP',
    ]);
  });

  it('node ports in ranges alone', () => {
    const state = { ports: [port({ nodePort: 30_080, cluster: [], local: [] })], hostPorts: [], presentChains: [] };
    const about = (nodePortRanges: readonly string[] | undefined): string[] =>
      iptablesRules({ ...state, nodePortRanges }, config)
        .split('\n')
        .filter((line) => /--dst-type LOCAL.*NODEPORTS|30080|127\.0.*RETURN/.test(line))
        .map((line) => line.replace(/-m comment --comment "[^"]*" /, ''));
    const refused = '-m addrtype --dst-type LOCAL -p tcp -m tcp --dport 30080 -j REJECT';
    assert.deepEqual(about(undefined), [
      `-A KUBE-EXTERNAL-SERVICES ${refused}`,
      '-A KUBE-SERVICES -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS',
    ]);
    assert.deepEqual(about(['10.0.0.0/8', '192.0.2.1/32']), [
      `-A KUBE-EXTERNAL-SERVICES -d 10.0.0.0/8 ${refused}`,
      `-A KUBE-EXTERNAL-SERVICES -d 192.0.2.1/32 ${refused}`,
      '-A KUBE-SERVICES -d 127.0.0.0/8 -j RETURN',
      '-A KUBE-SERVICES -d 10.0.0.0/8 -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS',
      '-A KUBE-SERVICES -d 192.0.2.1/32 -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS',
    ]);
    assert.deepEqual(about([]), ['-A KUBE-SERVICES -d 127.0.0.0/8 -j RETURN']);
  });

  it('packets from loopback addresses to host ports are masqueraded before other marks are checked', () => {
    const hostPort = { hostIp: '127.0.0.1', hostPort: 8000, protocol: 'tcp', podIp: '10.42.0.9', containerPort: 80 };
    const about = (family: 4 | 6): string[] =>
      iptablesRules({ ports: [], hostPorts: [hostPort as HostPortView], presentChains: [] }, { ...config, family })
        .split('\n')
        .filter((line) => /^-A KUBE-(HOSTPORTS|POSTROUTING)/.test(line));
    assert.deepEqual(about(4), [
      '-A KUBE-POSTROUTING -s 127.0.0.0/8 ! -o lo -m conntrack --ctstate DNAT -j MASQUERADE --random-fully',
      '-A KUBE-POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN',
      '-A KUBE-POSTROUTING -j MARK --xor-mark 0x4000',
      '-A KUBE-POSTROUTING -j MASQUERADE --random-fully',
      '-A KUBE-HOSTPORTS -d 127.0.0.1/32 -p tcp -m tcp --dport 8000 -s 10.42.0.9/32 -j KUBE-MARK-MASQ',
      '-A KUBE-HOSTPORTS -d 127.0.0.1/32 -p tcp -m tcp --dport 8000 -j DNAT --to-destination 10.42.0.9:80',
    ]);
    assert.doesNotMatch(about(6).join('\n'), /127\.0\.0\.0/);
  });

  it('host ports, in IPv6 with brackets', () => {
    const hostPort = { hostIp: '', hostPort: 8000, protocol: 'sctp', podIp: 'fd00:42::9', containerPort: 80 } as const;
    const text = iptablesRules({ ports: [], hostPorts: [hostPort], presentChains: [] }, { ...config, family: 6 });
    assert.deepEqual(
      text.split('\n').filter((line) => line.startsWith('-A KUBE-HOSTPORTS')),
      [
        '-A KUBE-HOSTPORTS -p sctp -m sctp --dport 8000 -s fd00:42::9/128 -j KUBE-MARK-MASQ',
        '-A KUBE-HOSTPORTS -p sctp -m sctp --dport 8000 -j DNAT --to-destination [fd00:42::9]:80',
      ],
    );
  });

  it('chains of services that went are emptied, then deleted; others stay', () => {
    const text = iptablesRules(
      { ports: [], hostPorts: [], presentChains: ['KUBE-SVC-AAAAAAAAAAAAAAAA', 'KUBE-POSTROUTING', 'KUBE-FIREWALL'] },
      config,
    );
    assert.ok(text.includes(':KUBE-SVC-AAAAAAAAAAAAAAAA - [0:0]'));
    assert.deepEqual(text.match(/^-X .*/gm), ['-X KUBE-SVC-AAAAAAAAAAAAAAAA']);
    const removal = iptablesRemoval(['KUBE-SVC-AAAAAAAAAAAAAAAA']);
    assert.equal(removal.match(/^-X /gm)?.length, 11);
  });
});
