// The programs Keelson starts and the Debian packages that bring them, one literal list per purpose.
// A machine that has a program already, from wherever (Docker's containerd.io, a distribution without apt), needs no
// package for it: installing Debian's over it could remove the other. apt is told to remove nothing.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { SetupError, runProgram } from './phases.mjs';

/** What `keelson up` starts. `paths` are alternatives to a program on PATH. */
export const upPackages = [
  { name: 'containerd', programs: ['containerd', 'ctr'] },
  { name: 'runc', programs: ['runc'] },
  {
    name: 'containernetworking-plugins',
    programs: [],
    paths: ['/usr/lib/cni/bridge', '/opt/cni/bin/bridge', '/usr/libexec/cni/bridge'],
  },
  { name: 'nftables', programs: ['nft'] },
  { name: 'iptables', programs: ['iptables'] },
  { name: 'iproute2', programs: ['ip'] },
  { name: 'busybox-static', programs: ['busybox'] },
];

/** What the tests start as well. */
const testPackages = [
  ...upPackages,
  { name: 'conntrack', programs: ['conntrack'] },
  { name: 'e2fsprogs', programs: ['mkfs.ext4'] },
  { name: 'etcd-server', programs: ['etcd'] },
  { name: 'docker-registry', programs: ['docker-registry'] },
  { name: 'chromium', programs: ['chromium'] },
  { name: 'curl', programs: ['curl'] },
  { name: 'wget', programs: ['wget'] },
];

/** The packages each purpose needs. */
export const packagesFor = { unit: [], up: upPackages, test: testPackages };

const systemFolders = ['/usr/local/sbin', '/usr/sbin', '/sbin', '/usr/local/bin', '/usr/bin', '/bin'];

/** The requirements a machine does not meet; `exists` answers for absolute paths. */
export function missingPackages(wanted, { exists = existsSync, path = process.env.PATH ?? '' } = {}) {
  const folders = [...path.split(':').filter((folder) => folder.startsWith('/')), ...systemFolders];
  const found = (program) => folders.some((folder) => exists(join(folder, program)));
  return wanted.filter(({ programs, paths }) => !programs.every(found) || (paths !== undefined && !paths.some(exists)));
}

/** The message for a machine whose packages are not ours to install. */
export function unsupportedSystemMessage(missing, wanted) {
  const what = ({ name, programs, paths }) => `${name} (${[...programs, ...(paths?.slice(0, 1) ?? [])].join(', ')})`;
  return [
    `missing on this machine: ${missing.map(what).join('; ')}.`,
    'They are installed by themselves only where apt-get is. Install these by your own means and run this again,',
    `by their Debian names: ${wanted.map(({ name }) => name).join(' ')}`,
  ].join('\n');
}

/** Installs the missing packages with apt; returns what was done ('' for nothing). */
export async function ensurePackages({ purpose, progress, aptGet = '/usr/bin/apt-get', policyPath }) {
  const wanted = packagesFor[purpose];
  const missing = missingPackages(wanted);
  if (missing.length === 0) return '';
  if (!existsSync(aptGet)) throw new SetupError(unsupportedSystemMessage(missing, wanted));
  const names = missing.map(({ name }) => name);
  progress(`installing ${names.join(' ')}`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const wait = ['-o', 'DPkg::Lock::Timeout=300'];
  await runProgram(aptGet, [...wait, '-q', 'update'], { env });
  const install = [...wait, '-q', '-y', '--no-install-recommends', '--no-remove', 'install', ...names];
  await withoutServiceStart(() => runProgram(aptGet, install, { env }), { policyPath });
  const left = missingPackages(missing);
  if (left.length > 0) throw new SetupError(`${unsupportedSystemMessage(left, wanted)}\n(apt-get did not bring them)`);
  return `${names.length} installed`;
}

const policyMark = '# Written by Keelson while it installs packages';

/** The policy that keeps packages from starting their services; it denies only while the process that wrote it lives. */
export function servicePolicy(pid) {
  return `#!/bin/sh\n${policyMark}: their services are not to start.\nkill -0 ${pid} 2>/dev/null && exit 101\nexit 0\n`;
}

/**
 * Runs `work` while installed packages may not start services. A policy of the administrator's own stays as it is; one
 * that a killed bootstrap left behind is replaced.
 */
export async function withoutServiceStart(work, { policyPath = '/usr/sbin/policy-rc.d', pid = process.pid } = {}) {
  if (existsSync(policyPath) && !readFileSync(policyPath, 'utf8').includes(policyMark)) return work();
  const remove = () => rmSync(policyPath, { force: true });
  writeFileSync(policyPath, servicePolicy(pid), { mode: 0o755 });
  process.once('exit', remove);
  try {
    return await work();
  } finally {
    process.off('exit', remove);
    remove();
  }
}
