/**
 * Checks before a start: programs, privileges, the port, and address ranges that conflict with the machine's routes.
 * Each error is one line with a remedy.
 */
import { cidrsOverlap, parseCidr, rangesOf, type Cidr } from '../../base/cidr.ts';
import type { Exec } from '../../platform/exec.ts';
import type { Files } from '../../platform/files.ts';
import { PreflightError } from '../preflight-error.ts';
import type { TakenRange } from './range-claims.ts';

/** A program and the Debian package that brings it. */
const PROGRAMS: readonly (readonly [program: string, debianPackage: string])[] = [
  ['ip', 'iproute2'],
  ['nft', 'nftables'],
  ['mount', 'mount'],
];
const RUNTIME_PROGRAMS: readonly (readonly [string, string])[] = [
  ['containerd', 'containerd'],
  ['runc', 'runc'],
];
const FOLDERS = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];
/** The usual folders of CNI plugins in distributions. */
const CNI_FOLDERS = ['/opt/cni/bin', '/usr/lib/cni', '/usr/libexec/cni'];

/** The programs that a node runs itself. */
export interface OwnPrograms {
  /** containerd and runc are needed. */
  readonly ownContainerd: boolean;
  /** CNI plugins are needed. */
  readonly ownCni: boolean;
}

/** Missing programs, each with its Debian package, and the folders of CNI plugins. */
export async function findPrograms(
  files: Files,
  { ownContainerd, ownCni }: OwnPrograms,
): Promise<{ readonly missing: readonly string[]; readonly cniFolders: readonly string[] }> {
  const wanted = ownContainerd ? [...PROGRAMS, ...RUNTIME_PROGRAMS] : PROGRAMS;
  const missing = [...(await missingPrograms(files, wanted))];
  const cniFolders: string[] = [];
  for (const folder of CNI_FOLDERS) if (await files.exists(`${folder}/bridge`)) cniFolders.push(folder);
  if (ownCni && cniFolders.length === 0) missing.push('CNI plugins (Debian: containernetworking-plugins)');
  return { missing, cniFolders };
}

/** The missing programs, each with its Debian package. */
export async function missingPrograms(
  files: Files,
  programs: readonly (readonly [program: string, debianPackage: string])[],
): Promise<readonly string[]> {
  const missing: string[] = [];
  for (const [program, debianPackage] of programs)
    if (!(await inFolders(files, FOLDERS, program))) missing.push(`${program} (Debian: ${debianPackage})`);
  return missing;
}

/** Throws when a program is missing. Returns the CNI plugins' folders. */
export async function checkPrograms(files: Files, own: OwnPrograms): Promise<readonly string[]> {
  const { missing, cniFolders } = await findPrograms(files, own);
  if (missing.length > 0) throw new PreflightError(`these programs are needed and missing: ${missing.join(', ')}`);
  return cniFolders;
}

/** Throws when the program is missing. */
export async function requireProgram(files: Files, program: string, debianPackage: string): Promise<void> {
  if (!(await inFolders(files, FOLDERS, program)))
    throw new PreflightError(`this program is needed and missing: ${program} (Debian: ${debianPackage})`);
}

async function inFolders(files: Files, folders: readonly string[], name: string): Promise<boolean> {
  for (const folder of folders) if (await files.exists(`${folder}/${name}`)) return true;
  return false;
}

/** The process that listens on a TCP port of this machine, e.g. `nginx (pid 12)`; undefined when there is none. */
export async function portHolder(files: Files, port: number): Promise<string | undefined> {
  const inodes = await listeningSockets(files, port);
  if (inodes.size === 0) return undefined;
  return (await processWithSocket(files, inodes)) ?? 'a process of another user or namespace';
}

/** Whether a process listens on a TCP port. */
export async function holdsPort(files: Files, pid: number, port: number): Promise<boolean> {
  return hasSocket(files, String(pid), await listeningSockets(files, port));
}

async function listeningSockets(files: Files, port: number): Promise<ReadonlySet<string>> {
  const inodes = new Set<string>();
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
    if (!(await files.exists(table))) continue;
    for (const line of (await files.readText(table)).split('\n').slice(1)) {
      const fields = line.trim().split(/\s+/);
      const local = fields[1]?.split(':')[1];
      if (fields[3] === '0A' && local !== undefined && Number.parseInt(local, 16) === port) inodes.add(fields[9] ?? '');
    }
  }
  return inodes;
}

async function processWithSocket(files: Files, inodes: ReadonlySet<string>): Promise<string | undefined> {
  for (const pid of (await files.readDir('/proc')).filter((name) => /^\d+$/.test(name)))
    if (await hasSocket(files, pid, inodes)) return `${await programName(files, pid)} (pid ${pid})`;
  return undefined;
}

async function hasSocket(files: Files, pid: string, inodes: ReadonlySet<string>): Promise<boolean> {
  if (inodes.size === 0) return false;
  const descriptors = await files.readDir(`/proc/${pid}/fd`).catch(() => []);
  for (const descriptor of descriptors) {
    const target = await files.readLink(`/proc/${pid}/fd/${descriptor}`).catch(() => '');
    const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
    if (inode !== undefined && inodes.has(inode)) return true;
  }
  return false;
}

/** The name of a process; for Node.js that of its script, since all are called `MainThread`. */
async function programName(files: Files, pid: string): Promise<string> {
  const name = (await files.readText(`/proc/${pid}/comm`).catch(() => '?')).trim();
  if (name !== 'MainThread' && name !== 'node') return name;
  const words = (await files.readText(`/proc/${pid}/cmdline`).catch(() => '')).split('\0');
  const script = words.slice(1).find((word) => word !== '' && !word.startsWith('-'));
  return script === undefined ? name : (script.split('/').at(-1) ?? name);
}

/** A route: its range, its device, and its protocol (name or number of `ip route`'s `proto`). */
export interface MachineRoute {
  readonly cidr: string;
  readonly device: string;
  readonly protocol?: string | undefined;
}

/** The machine's routes, without the default route and Keelson's devices. */
export async function foreignRoutes(exec: Exec, ownDevices: readonly string[]): Promise<readonly MachineRoute[]> {
  const result = await exec.run('ip', ['-json', 'route', 'show', 'table', 'all']);
  if (result.exitCode !== 0)
    throw new PreflightError(`cannot read the routes of this machine: ${result.stderr.trim()}`);
  const routes = JSON.parse(result.stdout === '' ? '[]' : result.stdout) as {
    dst?: string;
    dev?: string;
    type?: string;
    protocol?: string;
  }[];
  return routes
    .filter(
      (r) => r.dst !== undefined && r.dst !== 'default' && r.type === undefined && !ownDevices.includes(r.dev ?? ''),
    )
    .map((r) => ({
      cidr: (r.dst ?? '').includes('/') ? (r.dst ?? '') : `${r.dst}/${(r.dst ?? '').includes(':') ? 128 : 32}`,
      device: r.dev ?? '?',
      protocol: r.protocol,
    }));
}

/** Default ranges in order of preference; k3s uses the first pair too. */
const CLUSTER_RANGES = [
  '10.42.0.0/16',
  '10.44.0.0/16',
  '10.46.0.0/16',
  '10.48.0.0/16',
  '10.50.0.0/16',
  '10.52.0.0/16',
  '10.54.0.0/16',
];
const SERVICE_RANGES = [
  '10.43.0.0/16',
  '10.45.0.0/16',
  '10.47.0.0/16',
  '10.49.0.0/16',
  '10.51.0.0/16',
  '10.53.0.0/16',
  '10.55.0.0/16',
];

/**
 * The user's ranges, or the first pair that no route and no other cluster has. Throws `PreflightError` for ranges that collide. Pure.
 */
export function chooseRanges(
  requested: { readonly clusterCidr?: string; readonly serviceCidr?: string },
  routes: readonly { readonly cidr: string; readonly device: string }[],
  claimed: readonly TakenRange[] = [],
): { clusterCidr: string; serviceCidr: string } {
  const others = [
    ...routes.map(({ cidr, device }) => ({ cidr, why: `which this machine routes to ${device}` })),
    ...claimed.map(({ cidr, device }) => ({ cidr, why: `which ${device} has` })),
  ];
  const collision = (range: string): { cidr: string; why: string } | undefined =>
    others.find((other) => overlap(other.cidr, range));
  const choose = (
    flag: string,
    from: { wanted: string | undefined; defaults: readonly string[] },
    not: string | undefined,
  ): string => {
    const { wanted, defaults } = from;
    const candidates = wanted === undefined ? defaults : [wanted];
    const free = candidates.find((c) => collision(c) === undefined && (not === undefined || !overlap(c, not)));
    if (free !== undefined) return free;
    const with_ = collision(candidates[0] ?? '');
    throw new PreflightError(
      `${flag} ${candidates[0]} overlaps ${with_ === undefined ? not : `${with_.cidr}, ${with_.why}`}; choose another with ${flag}`,
    );
  };
  const clusterCidr = choose(
    '--cluster-cidr',
    { wanted: requested.clusterCidr, defaults: CLUSTER_RANGES },
    requested.serviceCidr,
  );
  return {
    clusterCidr,
    serviceCidr: choose('--service-cidr', { wanted: requested.serviceCidr, defaults: SERVICE_RANGES }, clusterCidr),
  };
}

function overlap(a: string, b: string): boolean {
  const parsed = (text: string): Cidr[] => rangesOf(text).flatMap((range) => parseCidr(range) ?? []);
  return parsed(a).some((left) => parsed(b).some((right) => cidrsOverlap(left, right)));
}
