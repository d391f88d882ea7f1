/** A healthy machine, and how others differ from it. */
import { parseTime } from '../../api/time.ts';
import type { Check, Level } from './finding.ts';
import type { CertificateFile, Machine } from './machine.ts';

export const NOW_MS = parseTime('2026-01-01T00:00:00Z');
export const DAY_MS = 86_400_000;
export const GIB = 1_073_741_824;

export const HEALTHY: Machine = {
  isRoot: true,
  dataDir: '/d',
  pid: undefined,
  instanceError: undefined,
  settled: {
    clusterCidr: '10.42.0.0/16',
    serviceCidr: '10.43.0.0/16',
    dnsAddress: '10.43.0.10',
    ownContainerd: true,
    ownCni: true,
    bridge: 'kl123456',
    isMember: false,
  },
  kernel: {
    release: '6.1.0-18-amd64',
    fileSystems: ['ext4', 'overlay'],
    namespaces: ['cgroup', 'ipc', 'mnt', 'net', 'pid', 'user', 'uts'],
    hasSeccomp: true,
    hasBridgeNetfilter: true,
    modules: ['overlay', 'br_netfilter', 'nf_tables'],
    nftError: undefined,
    ipForward: true,
  },
  cgroups: { version: 2, controllers: ['cpuset', 'cpu', 'io', 'memory', 'hugetlb', 'pids'] },
  ports: [
    { port: 6443, purpose: 'API server', flag: '--https-port', isSettled: true, isOurs: false, holder: undefined },
  ],
  clock: { nowMs: NOW_MS, isSynchronized: true, lastWriteMs: NOW_MS - DAY_MS },
  disk: { path: '/d', totalBytes: 100 * GIB, availableBytes: 50 * GIB, totalInodes: 1000, availableInodes: 900 },
  firewall: { iptables: '-P INPUT ACCEPT\n-P FORWARD ACCEPT\n', droppingChains: [] },
  routes: [{ cidr: '192.0.2.0/24', device: 'eth0' }],
  resolvConf: 'nameserver 192.0.2.53\n',
  hasSystemdResolvConf: false,
  certificates: [certificate('apiserver.crt', 300)],
  programs: {
    missing: [],
    containerd: 'containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+deb12u3',
    runc: 'runc version 1.1.5+ds1',
    nft: 'nftables v1.0.6 (Lester Gooch #5)',
  },
  nodes: { missing: [], entries: [] },
};

export function certificate(name: string, days: number, more: Partial<CertificateFile> = {}): CertificateFile {
  const times = { notBeforeMs: NOW_MS - 100 * DAY_MS, notAfterMs: NOW_MS + days * DAY_MS };
  return { path: `/d/pki/${name}`, isAuthority: name === 'ca.crt', renewsItself: false, times, ...more };
}

/** Replaces some facts of one part. */
export function withPart<K extends keyof Machine>(part: K, facts: Partial<Machine[K]>): Machine {
  return { ...HEALTHY, [part]: { ...(HEALTHY[part] as object), ...facts } };
}

/** A check on a machine, its level, and its text with the advice. */
export type Row = readonly [what: string, check: Check, machine: Machine, level: Level, text: RegExp];
