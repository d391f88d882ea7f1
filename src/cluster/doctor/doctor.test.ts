/** Every check on simulated machines: its finding, level and advice. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { certificates } from './checks/certificates.ts';
import { cgroups } from './checks/cgroups.ts';
import { directory } from './checks/directory.ts';
import { disk } from './checks/disk.ts';
import { kernel } from './checks/kernel.ts';
import { modules } from './checks/modules.ts';
import { nodes } from './checks/nodes.ts';
import { ports } from './checks/ports.ts';
import { programs } from './checks/programs.ts';
import { time } from './checks/time.ts';
import { worstOf } from './finding.ts';
import type { CertificateFile, Machine } from './machine.ts';
import { certificate, DAY_MS, GIB, HEALTHY, NOW_MS, withPart, type Row } from './machine-fixture.ts';
import { NETWORK_ROWS } from './network-rows-fixture.ts';
import { examine, reportText } from './report.ts';
import { isAtLeast, versionIn } from './versions.ts';

const SEVERAL = {
  network: '10.58.0.0/24',
  entries: [
    { name: 'a-2', number: 2 },
    { name: 'a-3', number: 3 },
  ],
};

const ROWS: readonly Row[] = [
  ...NETWORK_ROWS,
  ['one node', nodes, HEALTHY, 'ok', /^one; --nodes makes others$/],
  [
    'one node, and no programs for others',
    nodes,
    withPart('nodes', { missing: ['nsenter (Debian: util-linux)'] }),
    'ok',
    /^one; others \(--nodes\) need nsenter \(Debian: util-linux\)$/,
  ],
  ['several nodes', nodes, withPart('nodes', SEVERAL), 'ok', /^1 \+ 2 on this machine, connected by 10\.58\.0\.0\/24/],
  [
    'several nodes, and no programs for them',
    nodes,
    withPart('nodes', { ...SEVERAL, missing: ['nsenter (Debian: util-linux)'] }),
    'error',
    /missing: nsenter .*apt-get install util-linux/,
  ],
  [
    'a node that is stopped and one that is cut off',
    nodes,
    withPart('nodes', {
      ...SEVERAL,
      entries: [
        { name: 'a-2', number: 2, stopped: true },
        { name: 'a-3', number: 3, partitioned: true },
      ],
    }),
    'warning',
    /a-2 is stopped; a-3 is partitioned.*keelson node start a-2; keelson node heal a-3/,
  ],
  [
    'a route to the network of nodes',
    nodes,
    { ...withPart('nodes', SEVERAL), routes: [{ cidr: '10.58.0.128/25', device: 'tun0' }] },
    'warning',
    /10\.58\.0\.0\/24.* overlaps 10\.58\.0\.128\/25.*tun0.*--nodes-network/,
  ],
  [
    'a wider route, inside of which the network of nodes is',
    nodes,
    { ...withPart('nodes', SEVERAL), routes: [{ cidr: '10.0.0.0/8', device: 'tun0' }] },
    'ok',
    /^1 \+ 2 on this machine/,
  ],
  ['an old kernel', kernel, withPart('kernel', { release: '4.18.0-553.el8' }), 'error', /4\.18.* older than 4\.19/],
  [
    'a kernel before nftables services',
    kernel,
    withPart('kernel', { release: '5.4.0' }),
    'warning',
    /--proxy-mode iptables/,
  ],
  [
    'no network namespaces',
    kernel,
    withPart('kernel', { namespaces: ['ipc', 'mnt', 'pid', 'uts'] }),
    'error',
    /kind net/,
  ],
  ['no seccomp', kernel, withPart('kernel', { hasSeccomp: false }), 'warning', /CONFIG_SECCOMP_FILTER/],
  ['overlay that can be loaded', modules, withPart('kernel', { fileSystems: [] }), 'ok', /^overlay/],
  [
    'no overlay',
    modules,
    withPart('kernel', { fileSystems: [], modules: [] }),
    'error',
    /modprobe overlay, or a kernel with CONFIG_OVERLAY_FS/,
  ],
  [
    'no nf_tables',
    modules,
    withPart('kernel', { nftError: 'Operation not supported' }),
    'error',
    /nftables does not work: Operation not supported.*modprobe nf_tables/,
  ],
  [
    'br_netfilter not loaded',
    modules,
    withPart('kernel', { hasBridgeNetfilter: false }),
    'warning',
    /modprobe br_netfilter, and its name in/,
  ],
  ['a user who may not ask nft', modules, { ...HEALTHY, isRoot: false }, 'ok', /only root sees/],
  ['cgroup v1', cgroups, withPart('cgroups', { version: 1 }), 'warning', /unified_cgroup_hierarchy=1/],
  [
    'no memory controller',
    cgroups,
    withPart('cgroups', { controllers: ['cpu', 'cpuset', 'pids'] }),
    'error',
    /cgroup_enable=memory/,
  ],
  [
    'a missing program',
    programs,
    withPart('programs', { missing: ['runc (Debian: runc)', 'CNI plugins (Debian: x-plugins)'] }),
    'error',
    /apt-get install runc x-plugins/,
  ],
  [
    'an old containerd',
    programs,
    withPart('programs', { containerd: 'containerd containerd.io 1.5.11 abc' }),
    'error',
    /containerd 1\.5\.11 is older than 1\.6/,
  ],
  [
    'an nft that service rules of nftables are not made for',
    programs,
    withPart('programs', { nft: 'nftables v0.9.8 (E.D.S.)' }),
    'warning',
    /nft 0\.9\.8 is older than 1\.0\.1.*→ .*--proxy-mode iptables/,
  ],
  [
    'missing programs of the tunnels between nodes',
    programs,
    withPart('programs', {
      missingForWireguard: ['wg (Debian: wireguard-tools)', 'wireguard-go (Debian: wireguard-go)'],
    }),
    'error',
    /missing: wg \(Debian: wireguard-tools\), wireguard-go .*apt-get install wireguard-tools wireguard-go/,
  ],
  ['a program without a version', programs, withPart('programs', { runc: 'runc' }), 'warning', /runc says no version/],
  [
    'a settled port that is taken',
    ports,
    taken({ isSettled: true }),
    'error',
    /6443 \(API server\) is taken by nginx \(pid 7\).*another --https-port/,
  ],
  [
    'a port that is taken before the first start',
    ports,
    taken({ isSettled: false }),
    'warning',
    /takes the next free one/,
  ],
  [
    'ports of the cluster that runs',
    ports,
    { ...HEALTHY, pid: 9, ports: [{ ...HEALTHY.ports[0]!, isOurs: true }] },
    'ok',
    /^6443 \(API server\) ours$/,
  ],
  [
    'a broken instance.json',
    directory,
    { ...HEALTHY, settled: undefined, instanceError: 'the data directory is broken: x' },
    'error',
    /broken: x → .*from a backup.*keelson down --delete-data --data-dir \/d/,
  ],
  [
    'an instance.json of another user',
    directory,
    { ...HEALTHY, isRoot: false, settled: undefined, instanceError: 'cannot read x: EACCES: permission denied' },
    'error',
    /→ sudo keelson doctor$/,
  ],
  ['no data directory yet', directory, { ...HEALTHY, settled: undefined }, 'ok', /no cluster yet in \/d/],
  [
    'a clock that went back',
    time,
    withPart('clock', { lastWriteMs: NOW_MS + DAY_MS }),
    'error',
    /the clock went back → set the clock/,
  ],
  [
    'a clock that runs free',
    time,
    withPart('clock', { isSynchronized: false }),
    'warning',
    /→ a time service: apt-get/,
  ],
  [
    'a clock that chrony has not synchronized yet',
    time,
    withPart('clock', { isSynchronized: false, service: 'chrony' }),
    'warning',
    /→ systemctl status chrony/,
  ],
  [
    'a clock that another time service has not synchronized yet',
    time,
    withPart('clock', { isSynchronized: false, service: 'systemd-timesyncd' }),
    'warning',
    /→ systemctl status systemd-timesyncd/,
  ],
  [
    'a clock of which nothing is known',
    time,
    withPart('clock', { isSynchronized: undefined, lastWriteMs: undefined }),
    'ok',
    /no program says/,
  ],
  [
    'a disk from which images go',
    disk,
    withPart('disk', { availableBytes: 14 * GIB }),
    'warning',
    /deletes images.*image prune/,
  ],
  ['a disk from which pods go', disk, withPart('disk', { availableBytes: 9 * GIB }), 'error', /9 %.*evicts pods/],
  ['no inodes', disk, withPart('disk', { availableInodes: 40 }), 'error', /4 % of the inodes/],
  [
    'a file system without inodes',
    disk,
    withPart('disk', { totalInodes: 0, availableInodes: 0 }),
    'ok',
    /50\.0 of 100\.0 GiB free \(50 %\) at \/d$/,
  ],
  ['a disk that cannot be read', disk, { ...HEALTHY, disk: undefined }, 'warning', /--data-dir/],
  [
    'a certificate that ended, of a stopped cluster',
    certificates,
    withFiles(certificate('apiserver.crt', -1)),
    'warning',
    /ended on 2025-12-31.*a start renews it/,
  ],
  [
    'a certificate that ended, of a running one',
    certificates,
    { ...withFiles(certificate('apiserver.crt', -1)), pid: 9 },
    'error',
    /restart Keelson/,
  ],
  [
    'the client certificate of a stopped agent that ended',
    certificates,
    member(certificate('kubelet-client-current.pem', -1, { renewsItself: true })),
    'error',
    /kubelet-client-current\.pem ended on .*keelson token create on a server, then start with --token/,
  ],
  [
    'the client certificate of an agent that cannot be read',
    certificates,
    member({
      path: '/d/pki/kubelet-client-current.pem',
      isAuthority: false,
      renewsItself: true,
      error: 'no PEM',
    }),
    'error',
    /cannot be read: no PEM.*keelson token create/,
  ],
  [
    'the serving certificate of an agent that ended',
    certificates,
    member(certificate('kubelet-server-current.pem', -1, { renewsItself: true })),
    'warning',
    /a start renews it/,
  ],
  [
    'one that ends soon',
    certificates,
    withFiles(certificate('admin.crt', 29)),
    'warning',
    /admin\.crt ends on 2026-01-30/,
  ],
  [
    'one that is renewed in time',
    certificates,
    withFiles(certificate('dns-current.pem', 2, { renewsItself: true })),
    'ok',
    /^1, all are renewed in time/,
  ],
  [
    'an authority that ends soon',
    certificates,
    withFiles(certificate('ca.crt', 300)),
    'warning',
    /no start renews an authority/,
  ],
  ['an authority that ended', certificates, withFiles(certificate('ca.crt', -1)), 'error', /ca\.crt ended/],
  ['one that is not valid yet', certificates, withFiles(future()), 'error', /valid from .*set the clock/],
  [
    'one that cannot be read',
    certificates,
    withFiles({ path: '/d/pki/x.crt', isAuthority: false, renewsItself: false, error: 'no PEM' }),
    'error',
    /x\.crt cannot be read: no PEM/,
  ],
  ['none before the first start', certificates, { ...withFiles(), settled: undefined }, 'ok', /none yet/],
];

function taken(more: { readonly isSettled: boolean }): Machine {
  return { ...HEALTHY, ports: [{ ...HEALTHY.ports[0]!, holder: 'nginx (pid 7)', ...more }] };
}

function member(file: CertificateFile): Machine {
  return { ...withPart('settled', { isMember: true }), certificates: [file] };
}

function withFiles(...files: readonly CertificateFile[]): Machine {
  return { ...HEALTHY, certificates: files };
}

function future(): CertificateFile {
  return certificate('a.crt', 300, { times: { notBeforeMs: NOW_MS + DAY_MS, notAfterMs: NOW_MS + 300 * DAY_MS } });
}

describe('the finding of a check', () => {
  for (const [what, { check }, machine, level, text] of ROWS)
    test(what, () => {
      const { level: found, message, cure } = check(machine);
      assert.equal(found, level, message);
      assert.match(`${message} → ${cure ?? ''}`.replace(/ → $/, ''), text);
      assert.equal(cure === undefined, level === 'ok', 'a cure where something is wrong');
    });
});

test('a healthy machine has a line for each check, and no cure', () => {
  const report = examine(HEALTHY);
  assert.equal(report.level, 'ok', reportText(report));
  const lines = reportText(report).trimEnd().split('\n');
  assert.equal(lines.length, report.checks.length);
  for (const line of lines) assert.match(line, /^✓ \w+ +\S/);
});

test('every check has a machine on which it finds something', () => {
  const found = new Set(ROWS.filter(([, , , level]) => level !== 'ok').map(([, { name }]) => name));
  assert.deepEqual(
    examine(HEALTHY).checks.filter(({ name }) => !found.has(name)),
    [],
  );
});

test('the worst of all is the report’s level; a line stays one line', () => {
  const report = examine({
    ...withPart('kernel', { nftError: 'a\nb' }),
    cgroups: { version: 1, controllers: ['cpu', 'cpuset', 'memory', 'pids'] },
  });
  assert.equal(report.level, 'error');
  const text = reportText(report);
  assert.match(text, /^✖ modules +nftables does not work: a b → /m);
  assert.match(text, /^! cgroups /m);
  assert.equal(examine(withPart('cgroups', { version: 1 })).level, 'warning');
});

test('several problems of one check: the worst first, each cure once', () => {
  const problems = [
    { level: 'warning', message: 'a', cure: 'x' },
    { level: 'error', message: 'b', cure: 'y' },
    { level: 'warning', message: 'c', cure: 'x' },
  ] as const;
  assert.deepEqual(worstOf(problems, ''), { level: 'error', message: 'b; a; c', cure: 'y; x' });
});

test('versions', () => {
  for (const [line, version] of [
    ['containerd github.com/containerd/containerd/v2 v2.1.6 abc', '2.1.6'],
    ['containerd github.com/containerd/containerd 1.6.20~ds1', '1.6.20'],
    ['runc version 1.1.5+ds1', '1.1.5'],
    ['nftables v1.0.6 (Lester Gooch #5)', '1.0.6'],
    ['none', undefined],
  ] as const)
    assert.equal(versionIn(line), version, line);
  for (const [version, oldest, wanted] of [
    ['4.19.0-26-amd64', '4.19', true],
    ['5.4', '5.13', false],
    ['6.1', '5.13', true],
    ['1.10.0', '1.6', true],
    ['1', '1.0.1', false],
  ] as const)
    assert.equal(isAtLeast(version, oldest), wanted, `${version} ${oldest}`);
});
