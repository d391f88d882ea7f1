/** Reads the facts of a machine from files and programs of a simulated one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSimPlatform, type SimPlatform } from '../../platform/sim/sim-platform.ts';
import { writeInstanceFile } from '../instance/instance-file.ts';
import { readMachine } from './read-machine.ts';

async function write(platform: SimPlatform, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await platform.files.makeDir(path.slice(0, path.lastIndexOf('/')));
    await platform.files.writeFile(path, text);
  }
}

const subject = { dataDir: '/d', isRoot: true, pid: undefined };
const LISTENS = (port: string): string =>
  `  sl\n   0: 00000000:${port} 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 77 1\n`;

test('a machine on which nothing can be read has no facts, and no error', async () => {
  const platform = createSimPlatform();
  const machine = await readMachine(platform, subject);
  assert.deepEqual(
    [machine.settled, machine.routes, machine.resolvConf, machine.certificates, machine.firewall.iptables],
    [undefined, undefined, undefined, [], undefined],
  );
  assert.deepEqual(machine.cgroups, { version: 1, controllers: [] });
  assert.equal(machine.programs.containerd, undefined);
  assert.ok(machine.programs.missing.some((text) => text.startsWith('containerd ')));
});

test('the kernel, its modules and both kinds of control groups', async () => {
  const platform = createSimPlatform({ host: { kernelVersion: '6.1.0' } });
  await write(platform, {
    '/proc/filesystems': 'nodev\tsysfs\n\text4\nnodev\toverlay\n',
    '/proc/sys/net/ipv4/ip_forward': '1\n',
    '/proc/cgroups': '#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t3\t1\t1\nmemory\t0\t1\t0\n',
    '/lib/modules/6.1.0/modules.builtin': 'kernel/fs/overlayfs/overlay.ko\n',
    '/lib/modules/6.1.0/modules.dep': 'kernel/net/bridge/br-netfilter.ko.xz: kernel/net/bridge/bridge.ko.xz\n',
  });
  platform.exec.program('nft', () => ({ exitCode: 1, stderr: 'netlink: Error\nmore\n' }));
  const { kernel, cgroups } = await readMachine(platform, subject);
  assert.deepEqual(kernel.modules, ['overlay', 'br_netfilter']);
  assert.ok(kernel.fileSystems.includes('overlay') && kernel.fileSystems.includes('ext4'));
  assert.deepEqual([kernel.release, kernel.nftError, kernel.ipForward], ['6.1.0', 'netlink: Error', true]);
  assert.deepEqual(cgroups, { version: 1, controllers: ['cpu'] });
  await write(platform, { '/sys/fs/cgroup/cgroup.controllers': 'cpu memory pids\n' });
  assert.deepEqual((await readMachine(platform, subject)).cgroups, {
    version: 2,
    controllers: ['cpu', 'memory', 'pids'],
  });
});

test('a port of the cluster itself is not in use; that of another program is, with its name', async () => {
  const platform = createSimPlatform();
  await platform.files.makeDir('/d');
  await writeInstanceFile(platform.files, '/d', {
    format: 1,
    nodeName: 'n',
    clusterCidr: '10.44.0.0/16',
    serviceCidr: '10.45.0.0/16',
    clusterDomain: 'c.l',
    httpsPort: 7000,
    kubeletPort: 7001,
  });
  await write(platform, { '/proc/net/tcp': LISTENS('1B58'), '/proc/12/comm': 'nginx\n' });
  await platform.files.makeDir('/proc/12/fd');
  await platform.files.symlink('socket:[77]', '/proc/12/fd/3');
  const { ports, settled } = await readMachine(platform, subject);
  assert.deepEqual(
    ports.map(({ port, holder, isSettled }) => [port, holder, isSettled]),
    [
      [7000, 'nginx (pid 12)', true],
      [7001, undefined, false],
    ],
  );
  assert.deepEqual([settled?.clusterCidr, settled?.dnsAddress], ['10.44.0.0/16', '10.45.0.10']);
  assert.equal((await readMachine(platform, { ...subject, pid: 12 })).ports[0]?.holder, undefined);
});

test('a broken instance.json is a fact among others', async () => {
  for (const text of ['{"format": 1, "clusterCidr"', '{"format": 1, "clusterCidr": "10.42.0.0/16"}', '{"format": 7}']) {
    const platform = createSimPlatform();
    await write(platform, { '/d/instance.json': text, '/etc/resolv.conf': 'nameserver 192.0.2.1\n' });
    const { instanceError, settled, resolvConf, ports } = await readMachine(platform, subject);
    assert.match(instanceError ?? '', /instance\.json/, text);
    assert.deepEqual([settled, resolvConf, ports.length], [undefined, 'nameserver 192.0.2.1\n', 2]);
  }
});

test('a clock that is not synchronized: which service there is', async () => {
  const platform = createSimPlatform();
  platform.exec.program('timedatectl', () => ({ stdout: 'NTP=no\nNTPSynchronized=no\n' }));
  assert.deepEqual((await readMachine(platform, subject)).clock.service, undefined);
  platform.exec.program('timedatectl', () => ({ stdout: 'NTP=yes\nNTPSynchronized=no\n' }));
  const { clock } = await readMachine(platform, subject);
  assert.deepEqual([clock.isSynchronized, clock.service], [false, 'systemd-timesyncd']);
  platform.exec.program('chronyc', () => ({ stdout: 'Leap status     : Not synchronised\n' }));
  const other = (await readMachine(platform, subject)).clock;
  assert.deepEqual([other.isSynchronized, other.service], [false, 'chrony']);
  platform.exec.program('timedatectl', () => ({ stdout: 'NTP=yes\nNTPSynchronized=yes\n' }));
  assert.equal((await readMachine(platform, subject)).clock.isSynchronized, true);
});

test('routes of other devices, with the protocol that identifies their owner', async () => {
  const platform = createSimPlatform();
  const listed = [
    { dst: 'default', gateway: '192.0.2.1', dev: 'eth0' },
    { dst: '10.42.1.0/24', gateway: '192.0.2.3', dev: 'eth0', protocol: '199' },
    { dst: '10.42.0.7', dev: 'veth1', scope: 'link' },
  ];
  platform.exec.program('ip', () => ({ stdout: JSON.stringify(listed) }));
  assert.deepEqual((await readMachine(platform, subject)).routes, [
    { cidr: '10.42.1.0/24', device: 'eth0', protocol: '199' },
    { cidr: '10.42.0.7/32', device: 'veth1', protocol: undefined },
  ]);
});

test('firewall, clock and versions are read from programs; without root the firewall is not read', async () => {
  const platform = createSimPlatform();
  platform.exec.program('iptables', () => ({ stdout: '-P FORWARD DROP\n' }));
  platform.exec.program('ip6tables', () => ({ stdout: '-P INPUT DROP\n' }));
  platform.exec.program('nft', ({ args }) => {
    if (args[0] === '--version') return { stdout: 'nftables v1.0.6\n' };
    if (args.includes('chain')) return { stdout: args.join(' ') };
    const chain = { family: 'inet', table: 't', name: 'c', hook: 'forward', policy: 'drop' };
    return { stdout: JSON.stringify({ nftables: [{ chain }] }) };
  });
  platform.exec.program('firewall-cmd', () => ({ stdout: '10.42.0.0/16 10.43.0.0/16\n' }));
  platform.exec.program('chronyc', () => ({ stdout: 'Leap status     : Normal\n' }));
  platform.exec.program('containerd', () => ({ stdout: 'containerd x 2.1.6\nmore\n' }));
  const { firewall, clock, programs } = await readMachine(platform, subject);
  assert.deepEqual(firewall, {
    iptables: '-P FORWARD DROP\n',
    ip6tables: '-P INPUT DROP\n',
    droppingChains: [{ chain: 'inet t c', rules: 'list chain inet t c' }],
    firewalldTrusts: ['10.42.0.0/16', '10.43.0.0/16'],
  });
  assert.equal(clock.isSynchronized, true);
  assert.deepEqual([programs.containerd, programs.nft], ['containerd x 2.1.6', 'nftables v1.0.6']);
  const other = await readMachine(platform, { ...subject, isRoot: false });
  assert.deepEqual(other.firewall, { iptables: undefined, droppingChains: [] });
});

test('what tunnels between nodes need is looked for only in a cluster that uses them', async () => {
  const needs = async (flannelBackend: string | undefined, modules: string): Promise<readonly string[] | undefined> => {
    const platform = createSimPlatform();
    const ranges = { clusterCidr: '10.42.0.0/16', serviceCidr: '10.43.0.0/16' };
    const file = { format: 1, nodeName: 'n', ...ranges, flannelBackend };
    await platform.files.makeDir(subject.dataDir);
    await platform.files.writeFile(`${subject.dataDir}/instance.json`, JSON.stringify(file));
    const { kernelVersion } = await platform.host.info();
    await platform.files.makeDir(`/lib/modules/${kernelVersion}`);
    await platform.files.writeFile(`/lib/modules/${kernelVersion}/modules.dep`, modules);
    return (await readMachine(platform, subject)).programs.missingForWireguard;
  };
  const module = 'kernel/drivers/net/wireguard/wireguard.ko: kernel/net/ipv4/udp_tunnel.ko\n';
  assert.equal(await needs(undefined, ''), undefined);
  assert.equal(await needs('vxlan', ''), undefined);
  assert.deepEqual(await needs('wireguard-native', module), ['wg (Debian: wireguard-tools)']);
  assert.deepEqual(await needs('wireguard-native', ''), [
    'wg (Debian: wireguard-tools)',
    'wireguard-go (Debian: wireguard-go)',
  ]);
});
