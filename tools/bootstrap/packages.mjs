// The programs that Keelson starts and the Debian packages that contain them, one literal list per purpose. A machine that has a
// program from another source (Docker's containerd.io, a distribution without apt) needs no package for it: installing Debian's
// could remove the other. apt is told to remove nothing.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { SetupError, runProgram } from './phases.mjs';

/** The programs that `keelson up` starts. `paths` are alternatives to a program on PATH. */
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

/** Further programs that the tests start. Without those that are `optional`, tests that need them are skipped with their reason. */
const testPackages = [
  ...upPackages,
  { name: 'conntrack', programs: ['conntrack'] },
  { name: 'e2fsprogs', programs: ['mkfs.ext4'] },
  { name: 'etcd-server', programs: ['etcd'] },
  { name: 'docker-registry', programs: ['docker-registry'] },
  { name: 'chromium', programs: ['chromium'] },
  { name: 'curl', programs: ['curl'] },
  { name: 'wget', programs: ['wget'] },
  { name: 'wireguard-go', programs: ['wireguard-go'], optional: true },
  { name: 'wireguard-tools', programs: ['wg'], optional: true },
];

/** The packages each purpose needs. */
export const packagesFor = { unit: [], up: upPackages, test: testPackages };

const systemFolders = ['/usr/local/sbin', '/usr/sbin', '/sbin', '/usr/local/bin', '/usr/bin', '/bin'];

/** The requirements that a machine does not meet; `exists` is called with absolute paths. */
export function missingPackages(wanted, { exists = existsSync, path = process.env.PATH ?? '' } = {}) {
  const folders = [...path.split(':').filter((folder) => folder.startsWith('/')), ...systemFolders];
  const found = (program) => folders.some((folder) => exists(join(folder, program)));
  return wanted.filter(({ programs, paths }) => !programs.every(found) || (paths !== undefined && !paths.some(exists)));
}

/** The message for a machine without apt, on which packages cannot be installed. */
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
  if (!existsSync(aptGet)) {
    const needed = missing.filter(({ optional }) => optional !== true);
    if (needed.length === 0) return '';
    throw new SetupError(unsupportedSystemMessage(needed, wanted));
  }
  const names = missing.map(({ name }) => name);
  progress(`installing ${names.join(' ')}`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const wait = ['-o', 'DPkg::Lock::Timeout=300'];
  await runProgram(aptGet, [...wait, '-q', 'update'], { env });
  const install = [...wait, '-q', '-y', '--no-install-recommends', '--no-remove', 'install', ...names];
  await withoutServiceStart(() => runProgram(aptGet, install, { env }), { policyPath });
  const left = missingPackages(missing).filter(({ optional }) => optional !== true);
  if (left.length > 0) throw new SetupError(`${unsupportedSystemMessage(left, wanted)}\n(apt-get did not bring them)`);
  return `${names.length} installed`;
}

const policyMark = '# Written by Keelson while it installs packages';

/** The policy that keeps packages from starting their services. It denies only while the process that wrote it exists. */
export function servicePolicy(pid) {
  return `#!/bin/sh\n${policyMark}: their services are not to start.\nkill -0 ${pid} 2>/dev/null && exit 101\nexit 0\n`;
}

/**
 * Runs `work` while installed packages may not start services. The administrator's own policy stays; one that a killed bootstrap
 * left is replaced.
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
