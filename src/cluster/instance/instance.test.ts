import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { createMemoryFiles } from '../../platform/sim/files.ts';
import { parseYaml } from '../../api/codec/yaml.ts';
import { hostAddress, servingNames } from './host-address.ts';
import { checkAgainst, readInstanceFile, writeInstanceFile, type InstanceFile } from './instance-file.ts';
import { deriveInstance } from './instance.ts';
import { kubeconfigYaml } from '../kubeconfig.ts';
import { cniConfigList } from '../network/cni-config.ts';
import { dropsForwarded } from '../network/forward-accepts.ts';
import { podNetworkRules, removePodNetworkRules } from '../network/pod-network-rules.ts';
import { dnsAddress, kubernetesServiceAddress } from '../network/pod-network.ts';
import { chooseRanges, portHolder } from './preflight.ts';

const sha256Hex = (text: string): string => createHash('sha256').update(text).digest('hex');
const instance = (dataDir: string) =>
  deriveInstance(
    {
      dataDir,
      nodeName: 'n',
      clusterCidr: '10.42.0.0/16',
      serviceCidr: '10.43.0.0/16',
      clusterDomain: 'cluster.local',
      httpsPort: 6443,
    },
    sha256Hex,
  );

test('instances never share a name, and devices fit the kernel', () => {
  const [a, b] = [instance('/a'), instance('/b')];
  for (const key of [
    'hash',
    'runDir',
    'bridge',
    'serviceDevice',
    'nftTable',
    'cgroupRoot',
    'masqueradeMark',
    'kubeletRoot',
  ] as const)
    assert.notEqual(a[key], b[key], key);
  for (const device of [a.bridge, a.serviceDevice]) assert.ok(device.length <= 15);
  assert.deepEqual(instance('/a'), a);
});

test('addresses of the service range', () => {
  assert.deepEqual(
    [kubernetesServiceAddress('10.43.0.0/16'), dnsAddress('10.43.0.0/16'), dnsAddress('fd00::/112')],
    ['10.43.0.1', '10.43.0.10', 'fd00::a'],
  );
  assert.throws(() => dnsAddress('10.43.0.0/30'), /has no address number 10/);
});

const route = (cidr: string) => [{ cidr, device: 'eth1' }];
const rangeCases: readonly [
  string,
  Parameters<typeof chooseRanges>,
  { clusterCidr: string; serviceCidr: string } | RegExp,
][] = [
  ['the usual', [{}, []], { clusterCidr: '10.42.0.0/16', serviceCidr: '10.43.0.0/16' }],
  [
    'beside k3s',
    [{}, [...route('10.42.0.0/24'), ...route('10.43.0.0/16')]],
    { clusterCidr: '10.44.0.0/16', serviceCidr: '10.45.0.0/16' },
  ],
  ['asked for', [{ clusterCidr: '10.43.0.0/16' }, []], { clusterCidr: '10.43.0.0/16', serviceCidr: '10.45.0.0/16' }],
  [
    'asked for and taken',
    [{ clusterCidr: '172.16.0.0/16' }, route('172.16.3.0/24')],
    /--cluster-cidr 172.16.0.0\/16 overlaps 172.16.3.0\/24, which this machine routes to eth1/,
  ],
  ['everything taken', [{}, route('10.0.0.0/8')], /--cluster-cidr 10.42.0.0\/16 overlaps 10.0.0.0\/8/],
];
for (const [name, [asked, routes], wanted] of rangeCases) {
  test(`ranges: ${name}`, () => {
    if (wanted instanceof RegExp) assert.throws(() => chooseRanges(asked, routes), wanted);
    else assert.deepEqual(chooseRanges(asked, routes), wanted);
  });
}

test('the instance file keeps decisions and refuses others', async () => {
  const files = createMemoryFiles({ nowMs: () => 0 });
  await files.makeDir('/d');
  assert.equal(await readInstanceFile(files, '/d'), undefined);
  const file: InstanceFile = {
    format: 1,
    nodeName: 'n',
    clusterCidr: '10.42.0.0/16',
    serviceCidr: '10.43.0.0/16',
    clusterDomain: 'cluster.local',
    httpsPort: 6443,
    kubeletPort: 10250,
  };
  await writeInstanceFile(files, '/d', file);
  assert.deepEqual(await readInstanceFile(files, '/d'), file);
  checkAgainst(file, { clusterDomain: 'cluster.local', nodeName: 'n' }, '/d');
  assert.throws(
    () => checkAgainst(file, { clusterDomain: 'x.y', nodeName: 'n' }, '/d'),
    /made with --cluster-domain cluster.local; it cannot become x.y/,
  );
  for (const text of ['{', '{"format":2}', 'null']) {
    await files.writeFile('/d/instance.json', text);
    await assert.rejects(readInstanceFile(files, '/d'), /the data directory is broken/, text);
  }
});

test('the owner of a port', async () => {
  const files = createMemoryFiles({ nowMs: () => 0 });
  await files.makeDir('/proc/net');
  const line = (port: string, state: string, inode: string): string =>
    `   0: 00000000:${port} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000     0        0 ${inode} 1`;
  await files.writeFile(
    '/proc/net/tcp',
    `  sl  local_address rem_address\n${line('192B', '0A', '77')}\n${line('1F90', '01', '78')}\n`,
  );
  assert.equal(await portHolder(files, 8080), undefined, 'connected, not listening');
  assert.equal(await portHolder(files, 6443), 'a process of another user or namespace');
});

const device = (name: string, address: string, more: object = {}) => ({
  name,
  address,
  family: address.includes(':') ? 6 : 4,
  internal: false,
  ...more,
});
const addressCases: readonly [string, object[], string][] = [
  [
    'the first real device',
    [device('lo', '127.0.0.1', { internal: true }), device('docker0', '172.17.0.1'), device('eth0', '10.0.0.5')],
    '10.0.0.5',
  ],
  [
    'IPv4 before IPv6',
    [device('eth0', 'fe80::1'), device('eth0', '2001:db8::1'), device('eth0', '10.0.0.5')],
    '10.0.0.5',
  ],
  ['no link-local address', [device('eth0', 'fe80::1'), device('eth0', '2001:db8::1')], '2001:db8::1'],
  ['our own bridges are none', [device('kl0a1b2c', '10.42.0.1')], '127.0.0.1'],
  ['nothing', [], '127.0.0.1'],
];
for (const [name, interfaces, wanted] of addressCases)
  test(`host address: ${name}`, () => assert.equal(hostAddress(interfaces as never), wanted));

test("the serving certificate has each address once and the names of the cluster's service", () => {
  assert.deepEqual(servingNames({ nodeName: 'n', clusterDomain: 'c.l' }, ['10.0.0.1', '10.0.0.1']).ipAddresses, [
    '10.0.0.1',
  ]);
  assert.ok(servingNames({ nodeName: 'n', clusterDomain: 'c.l' }, []).dnsNames.includes('kubernetes.default.svc.c.l'));
});

test('the content of a kubeconfig', () => {
  const config = parseYaml(
    kubeconfigYaml({ server: 'https://h:1', caPem: 'CA', certPem: 'CERT', keyPem: 'KEY', user: 'u', cluster: 'c' }),
  ).value as unknown as { 'current-context': string; clusters: { cluster: Record<string, string> }[] };
  assert.equal(config['current-context'], 'c');
  assert.deepEqual(config.clusters[0]?.cluster, {
    server: 'https://h:1',
    'certificate-authority-data': Buffer.from('CA').toString('base64'),
  });
});

test('network rules and CNI configuration', () => {
  const of = instance('/a');
  const bridge = JSON.parse(cniConfigList(of, { podCidr: '10.42.1.0/24', attachment: 'bridge' })) as {
    plugins: { type: string; bridge?: string; ipam: { ranges: { subnet: string }[][] } }[];
  };
  assert.deepEqual(
    [bridge.plugins[0]?.bridge, bridge.plugins[0]?.ipam.ranges[0]?.[0]?.subnet],
    [of.bridge, '10.42.1.0/24'],
  );
  assert.equal(
    (JSON.parse(cniConfigList(of, { podCidr: 'fd00::/64', attachment: 'ptp' })) as { plugins: { type: string }[] })
      .plugins[0]?.type,
    'ptp',
  );
  assert.match(
    podNetworkRules(of),
    new RegExp(`^table ip ${of.nftTable}-pods\ndelete table ip ${of.nftTable}-pods\ntable ip`),
  );
  assert.doesNotMatch(podNetworkRules(of), /fib/);
  const tunnelled = podNetworkRules({ ...of, flannelBackend: 'wireguard-native' });
  assert.ok(tunnelled.includes(`ip saddr ${of.clusterCidr} fib saddr . iif oif missing counter drop`));
  assert.equal(
    removePodNetworkRules({ ...of, clusterCidr: 'fd00::/48' }),
    `table ip6 ${of.nftTable}-pods\ndelete table ip6 ${of.nftTable}-pods\n`,
  );
});

for (const [listing, wanted] of [
  ['-P FORWARD ACCEPT', false],
  ['-P FORWARD DROP', true],
  ['-P FORWARD ACCEPT\n-A FORWARD -i eth0 -j REJECT --reject-with x', true],
  ['-P FORWARD ACCEPT\n-A FORWARD -j DOCKER-USER', true],
] as const) {
  test(`forwarding: ${JSON.stringify(listing)}`, () => assert.equal(dropsForwarded(listing), wanted));
}
