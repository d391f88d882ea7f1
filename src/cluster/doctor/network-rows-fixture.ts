/** Machines with different routes, firewalls and name servers. */
import { dns } from './checks/dns.ts';
import { firewall } from './checks/firewall.ts';
import { ranges } from './checks/ranges.ts';
import { HEALTHY, withPart, type Row } from './machine-fixture.ts';

export const NETWORK_ROWS: readonly Row[] = [
  [
    'a route over the pods',
    ranges,
    { ...HEALTHY, routes: [{ cidr: '10.42.7.0/24', device: 'tun0' }] },
    'warning',
    /10\.42\.0\.0\/16 overlaps 10\.42\.7\.0\/24.*tun0/,
  ],
  [
    'the same route before the first start',
    ranges,
    { ...HEALTHY, settled: undefined, routes: [{ cidr: '10.42.7.0/24', device: 'tun0' }] },
    'ok',
    /first start/,
  ],
  [
    'own routes to other nodes’ pods, also while stopped',
    ranges,
    {
      ...withPart('settled', { clusterCidr: '10.42.0.0/16,fd42::/56' }),
      routes: [
        { cidr: '10.42.1.0/24', device: 'eth0', protocol: '199' },
        { cidr: 'fd42:0:0:1::/64', device: 'eth0', protocol: '199' },
      ],
    },
    'ok',
    /^pods 10\.42/,
  ],
  [
    'host routes of pods with point-to-point links',
    ranges,
    { ...HEALTHY, routes: [{ cidr: '10.42.0.7/32', device: 'veth1a2b3c4d', protocol: 'boot' }] },
    'ok',
    /^pods 10\.42/,
  ],
  [
    'routes of another cluster over the pods',
    ranges,
    { ...HEALTHY, routes: [{ cidr: '10.0.0.0/8', device: 'eth0', protocol: '199' }] },
    'warning',
    /overlaps 10\.0\.0\.0\/8/,
  ],
  [
    'a route of the same protocol over the services',
    ranges,
    { ...HEALTHY, routes: [{ cidr: '10.43.1.0/24', device: 'eth0', protocol: '199' }] },
    'warning',
    /10\.43\.0\.0\/16 overlaps/,
  ],
  [
    'a network behind a veth over the pods',
    ranges,
    { ...HEALTHY, routes: [{ cidr: '10.42.7.0/24', device: 'veth0' }] },
    'warning',
    /routes to veth0/,
  ],
  [
    'routes of the CNI plugin that the user brings',
    ranges,
    { ...withPart('settled', { ownCni: false }), routes: [{ cidr: '10.42.1.0/24', device: 'flannel.1' }] },
    'ok',
    /^pods 10\.42/,
  ],
  [
    'two families',
    ranges,
    {
      ...withPart('settled', { clusterCidr: '10.42.0.0/16,fd42::/56' }),
      routes: [{ cidr: 'fd42::/64', device: 'wg0' }],
    },
    'warning',
    /fd42::\/56 overlaps/,
  ],
  ['routes that cannot be read', ranges, { ...HEALTHY, routes: undefined }, 'warning', /iproute2/],
  [
    'a FORWARD chain that drops',
    firewall,
    withPart('firewall', { iptables: '-P INPUT ACCEPT\n-P FORWARD DROP\n' }),
    'ok',
    /puts accepts for pods before/,
  ],
  [
    'a foreign chain that drops',
    firewall,
    withPart('firewall', { droppingChains: [{ chain: 'inet mine fwd', rules: 'policy drop;' }] }),
    'warning',
    new RegExp(
      'nft insert rule inet mine fwd ip saddr 10.42.0.0/16 accept && ' +
        'nft insert rule inet mine fwd ip daddr 10.42.0.0/16 accept.* /etc/nftables.conf',
    ),
  ],
  [
    'ufw',
    firewall,
    withPart('firewall', { iptables: '-P INPUT DROP\n-P FORWARD DROP\n-A INPUT -j ufw-before-input\n' }),
    'warning',
    /ufw allow from 10\.42\.0\.0\/16/,
  ],
  [
    'an INPUT chain that drops',
    firewall,
    withPart('firewall', { iptables: '-P INPUT DROP\n' }),
    'warning',
    /iptables -I INPUT -s 10\.42\.0\.0\/16 -j ACCEPT/,
  ],
  [
    'an INPUT chain that drops, beside Keelson’s own accepts of forwarded packets',
    firewall,
    withPart('firewall', {
      iptables:
        '-P INPUT DROP\n-P FORWARD DROP\n-A INPUT -j ufw-before-input\n-A ufw-user-input ! -s 10.42.0.0/16 -j ACCEPT\n' +
        '-A FORWARD -s 10.42.0.0/16 -m comment --comment keelson-123456 -j ACCEPT\n',
    }),
    'warning',
    /ufw allow from 10\.42\.0\.0\/16/,
  ],
  [
    'an INPUT chain that refuses the pods by name',
    firewall,
    withPart('firewall', { iptables: '-P INPUT DROP\n-A INPUT -s 10.42.0.0/16 -j DROP\n' }),
    'warning',
    /may not reach this node/,
  ],
  [
    'a ufw that lets pods in, and not the further nodes of the machine',
    firewall,
    {
      ...withPart('firewall', {
        iptables: '-P INPUT DROP\n-A INPUT -j ufw-before-input\n-A ufw-user-input -s 10.42.0.0/16 -j ACCEPT\n',
      }),
      nodes: { missing: [], entries: [{ name: 'a-2', number: 2 }], network: '10.58.0.0/24' },
    },
    'warning',
    /its further nodes \(10\.58\.0\.0\/24\) may not reach this node.*ufw allow from 10\.58\.0\.0\/24/,
  ],
  [
    'a ufw that lets pods in',
    firewall,
    withPart('firewall', { iptables: '-P INPUT DROP\n-A ufw-user-input -s 10.42.0.0/16 -j ACCEPT\n' }),
    'ok',
    /drops nothing/,
  ],
  [
    'an INPUT chain that drops IPv6',
    firewall,
    {
      ...withPart('settled', { clusterCidr: '10.42.0.0/16,fd42::/56' }),
      firewall: { iptables: '-P INPUT ACCEPT\n', ip6tables: '-P INPUT DROP\n', droppingChains: [] },
    },
    'warning',
    /→ ip6tables -I INPUT -s fd42::\/56 -j ACCEPT$/,
  ],
  [
    'a ufw that lets pods of both families in',
    firewall,
    {
      ...withPart('settled', { clusterCidr: '10.42.0.0/16,fd42::/56' }),
      firewall: {
        iptables: '-P INPUT DROP\n-A ufw-user-input -s 10.42.0.0/16 -j ACCEPT\n',
        ip6tables: '-P INPUT DROP\n-A ufw6-user-input -s fd42::/56 -j ACCEPT\n',
        droppingChains: [],
      },
    },
    'ok',
    /drops nothing/,
  ],
  [
    'one that lets pods in',
    firewall,
    withPart('firewall', { iptables: '-P INPUT DROP\n-A INPUT -s 10.42.0.0/16 -j ACCEPT\n' }),
    'ok',
    /drops nothing/,
  ],
  [
    'a foreign chain that lets pods pass',
    firewall,
    withPart('firewall', { droppingChains: [{ chain: 'inet mine fwd', rules: 'iifname "kl123456" accept' }] }),
    'ok',
    /drops nothing/,
  ],
  [
    'a foreign chain that lets every bridge of Keelson pass',
    firewall,
    withPart('firewall', { droppingChains: [{ chain: 'inet mine fwd', rules: 'iifname "kl*" accept' }] }),
    'ok',
    /drops nothing/,
  ],
  [
    'a foreign chain that lets the bridge pass where pods have point-to-point links',
    firewall,
    {
      ...withPart('kernel', { hasBridgeNetfilter: false }),
      firewall: { iptables: undefined, droppingChains: [{ chain: 'inet mine fwd', rules: 'iifname "kl*" accept' }] },
    },
    'warning',
    /ip saddr 10\.42/,
  ],
  [
    'a foreign chain that lets the ranges of pods pass',
    firewall,
    withPart('firewall', {
      droppingChains: [{ chain: 'ip mine fwd', rules: '\t\tip saddr { 10.42.0.0/16, 192.0.2.0/24 } accept\n' }],
    }),
    'ok',
    /drops nothing/,
  ],
  [
    'a foreign chain that drops the pods by name',
    firewall,
    withPart('firewall', { droppingChains: [{ chain: 'ip mine fwd', rules: '\t\tip saddr 10.42.0.0/16 drop\n' }] }),
    'warning',
    /drops forwarded/,
  ],
  [
    'a foreign chain of a family that pods have not',
    firewall,
    withPart('firewall', { droppingChains: [{ chain: 'ip6 mine fwd', rules: 'policy drop;' }] }),
    'ok',
    /drops nothing/,
  ],
  [
    'a foreign chain that drops IPv6',
    firewall,
    {
      ...withPart('settled', { clusterCidr: '10.42.0.0/16,fd42::/56' }),
      firewall: { iptables: undefined, droppingChains: [{ chain: 'ip6 mine fwd', rules: 'policy drop;' }] },
    },
    'warning',
    /→ nft insert rule ip6 mine fwd ip6 saddr fd42::\/56 accept && nft/,
  ],
  [
    'a firewalld that trusts the pods',
    firewall,
    withPart('firewall', { firewalldTrusts: ['10.42.0.0/16', '10.43.0.0/16'] }),
    'ok',
    /drops nothing/,
  ],
  [
    'firewalld',
    firewall,
    withPart('firewall', { firewalldTrusts: [''] }),
    'warning',
    /--add-source=10\.42\.0\.0\/16 --add-source=10\.43\.0\.0\/16 &&/,
  ],
  ['a firewall that only root sees', firewall, { ...HEALTHY, isRoot: false }, 'warning', /sudo keelson doctor/],
  ['no resolv.conf', dns, { ...HEALTHY, resolvConf: undefined }, 'error', /there is no \/etc\/resolv\.conf/],
  ['no name server', dns, { ...HEALTHY, resolvConf: '# nameserver 192.0.2.1\n' }, 'error', /names no server/],
  [
    'a resolver on loopback',
    dns,
    { ...HEALTHY, resolvConf: 'nameserver 127.0.0.53\n', hasSystemdResolvConf: true },
    'warning',
    /resolv-conf=\/run\/systemd/,
  ],
  [
    'a resolver on loopback that is not systemd’s',
    dns,
    { ...HEALTHY, resolvConf: 'nameserver 127.0.0.1\n' },
    'warning',
    /→ --kubelet-arg resolv-conf=FILE/,
  ],
  ['a loop', dns, { ...HEALTHY, resolvConf: 'nameserver 10.43.0.10\n' }, 'error', /asks itself/],
  [
    'four servers',
    dns,
    { ...HEALTHY, resolvConf: 'nameserver 192.0.2.1\n'.repeat(4) },
    'warning',
    /pods get the first 3/,
  ],
];
