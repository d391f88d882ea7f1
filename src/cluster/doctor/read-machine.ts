/** Reads the facts for the checks of `keelson doctor`. Changes nothing; facts that cannot be read are absent. */
import { errorMessage, hasErrorCode } from '../../base/errors.ts';
import { largest } from '../../base/lists.ts';
import type { ExecResult } from '../../platform/exec.ts';
import type { Platform } from '../../platform/platform.ts';
import { deriveInstance } from '../instance/instance.ts';
import { readInstanceFile, type InstanceFile } from '../instance/instance-file.ts';
import {
  findPrograms,
  foreignRoutes,
  holdsPort,
  missingPrograms,
  portHolder,
  type OwnPrograms,
} from '../instance/preflight.ts';
import { HTTPS_PORT, KUBELET_PORT, ownDevices, programsOf } from '../instance/prepare-instance.ts';
import { foreignDroppingChains } from '../network/forward-accepts.ts';
import { missingForWireguard } from '../network/wireguard/device.ts';
import { NAMESPACE_PROGRAMS } from '../nodes/node-programs.ts';
import { readNodesFile } from '../nodes/nodes-file.ts';
import { dnsAddress } from '../network/pod-network.ts';
import { SYSTEMD_RESOLV_CONF } from './checks/dns.ts';
import type {
  ClockFacts,
  DiskFacts,
  FirewallFacts,
  KernelFacts,
  Machine,
  NodesFacts,
  PortFacts,
  ProgramFacts,
  SettledFacts,
} from './machine.ts';
import { readCertificates } from './read-certificates.ts';
import { readCgroups, readKernel } from './read-kernel.ts';

type Deps = Pick<Platform, 'files' | 'exec' | 'clock' | 'crypto' | 'host'>;

/** The machine and the cluster that doctor examines. */
export interface DoctorSubject {
  readonly dataDir: string;
  readonly isRoot: boolean;
  /** The cluster's process, if it runs. */
  readonly pid: number | undefined;
}

export async function readMachine(deps: Deps, subject: DoctorSubject): Promise<Machine> {
  const { files } = deps;
  const { dataDir, isRoot, pid } = subject;
  const { file, settled, instanceError } = await readInstance(deps, dataDir);
  const own = programsOf(file ?? {});
  const kernel = await readKernel(deps, isRoot);
  return {
    isRoot,
    dataDir,
    pid,
    instanceError,
    settled,
    kernel,
    cgroups: await readCgroups(files),
    ports: await readPorts(deps, file, pid),
    clock: await readClock(deps, dataDir),
    disk: await readDisk(deps, dataDir),
    firewall: await readFirewall(deps, isRoot),
    routes: await foreignRoutes(deps.exec, ownDevices(deps, dataDir)).catch(() => undefined),
    resolvConf: await files.readText('/etc/resolv.conf').catch(() => undefined),
    hasSystemdResolvConf: await files.exists(SYSTEMD_RESOLV_CONF),
    certificates: await readCertificates(deps, dataDir),
    programs: { ...(await readPrograms(deps, own)), ...(await readWireguard(deps, file, kernel)) },
    nodes: await readNodes(deps, dataDir),
  };
}

interface ReadInstance {
  readonly file?: InstanceFile | undefined;
  readonly settled: SettledFacts | undefined;
  readonly instanceError: string | undefined;
}

async function readInstance(deps: Deps, dataDir: string): Promise<ReadInstance> {
  let file: InstanceFile | undefined;
  try {
    file = await readInstanceFile(deps.files, dataDir);
    return { file, settled: file && settledFacts(deps, file, dataDir), instanceError: undefined };
  } catch (error) {
    const message = errorMessage(error);
    const instanceError =
      file === undefined ? message : `the data directory is broken: ${dataDir}/instance.json: ${message}`;
    return { settled: undefined, instanceError };
  }
}

/** Throws on invalid ranges. */
function settledFacts({ crypto }: Deps, file: InstanceFile, dataDir: string): SettledFacts {
  const { clusterCidr, serviceCidr, bridge } = deriveInstance({ ...file, dataDir }, (text) => crypto.sha256Hex(text));
  const isMember = file.servers !== undefined;
  return { clusterCidr, serviceCidr, bridge, dnsAddress: dnsAddress(serviceCidr), isMember, ...programsOf(file) };
}

async function readPorts(
  { files }: Deps,
  file: InstanceFile | undefined,
  pid: number | undefined,
): Promise<readonly PortFacts[]> {
  const isSettled = file !== undefined;
  const api = { port: file?.httpsPort ?? HTTPS_PORT, purpose: 'API server', flag: '--https-port', isSettled };
  // The kubelet's port may change, also at later starts.
  const kubelet = { port: file?.kubeletPort ?? KUBELET_PORT, purpose: 'kubelet', isSettled: false };
  const wanted = file?.servers !== undefined ? [kubelet] : [api, kubelet];
  const facts: PortFacts[] = [];
  for (const port of wanted) {
    const isOurs = pid !== undefined && (await holdsPort(files, pid, port.port));
    facts.push({ ...port, isOurs, holder: isOurs ? undefined : await portHolder(files, port.port) });
  }
  return facts;
}

async function readClock(deps: Deps, dataDir: string): Promise<ClockFacts> {
  const times: number[] = [];
  for (const name of ['instance.json', 'settings.json', 'state.db', 'state.db-wal']) {
    const stat = await deps.files.stat(`${dataDir}/${name}`).catch(() => undefined);
    if (stat !== undefined) times.push(stat.mtimeMs);
  }
  const lastWriteMs = times.length === 0 ? undefined : largest(times);
  return { nowMs: deps.clock.nowMs(), ...(await readTimeService(deps)), lastWriteMs };
}

async function readTimeService(deps: Deps): Promise<Pick<ClockFacts, 'isSynchronized' | 'service'>> {
  const systemd = await output(deps, 'timedatectl', ['show', '--property=NTP', '--property=NTPSynchronized']);
  if (systemd !== undefined && /^NTPSynchronized=yes$/m.test(systemd)) return { isSynchronized: true };
  // It fails when chrony does not run.
  const chrony = await output(deps, 'chronyc', ['-n', 'tracking']);
  if (chrony !== undefined) return { isSynchronized: /^Leap status\s*: Normal$/m.test(chrony), service: 'chrony' };
  if (systemd === undefined) return { isSynchronized: undefined };
  return { isSynchronized: false, service: /^NTP=yes$/m.test(systemd) ? 'systemd-timesyncd' : undefined };
}

/** The file system of the directory, or of the nearest existing parent. */
async function readDisk({ files }: Deps, dataDir: string): Promise<DiskFacts | undefined> {
  for (let path = dataDir; ; path = path.slice(0, path.lastIndexOf('/')) || '/') {
    try {
      return { path, ...(await files.statFileSystem(path)) };
    } catch (error) {
      if (!hasErrorCode(error, 'ENOENT') || path === '/') return undefined;
    }
  }
}

async function readFirewall(deps: Deps, isRoot: boolean): Promise<FirewallFacts> {
  if (!isRoot) return { iptables: undefined, droppingChains: [] };
  const droppingChains = await Promise.all(
    (await foreignDroppingChains(deps)).map(async (chain) => {
      const rules = (await output(deps, 'nft', ['list', 'chain', ...chain.split(' ')])) ?? '';
      return { chain, rules };
    }),
  );
  return {
    iptables: await output(deps, 'iptables', ['-w', '-S']),
    ip6tables: await output(deps, 'ip6tables', ['-w', '-S']),
    droppingChains,
    // It fails when firewalld does not run.
    firewalldTrusts: (await output(deps, 'firewall-cmd', ['--zone=trusted', '--list-sources']))?.trim().split(/\s+/),
  };
}

async function readPrograms(deps: Deps, own: OwnPrograms): Promise<ProgramFacts> {
  const { missing } = await findPrograms(deps.files, own);
  const version = async (program: string): Promise<string | undefined> =>
    (await output(deps, program, ['--version']))?.split('\n')[0];
  const ofRuntime = (program: string): Promise<string | undefined> =>
    own.ownContainerd ? version(program) : Promise.resolve(undefined);
  return {
    missing,
    containerd: await ofRuntime('containerd'),
    runc: await ofRuntime('runc'),
    nft: await version('nft'),
  };
}

async function readWireguard(
  { files }: Deps,
  file: InstanceFile | undefined,
  { modules }: KernelFacts,
): Promise<Partial<ProgramFacts>> {
  if (file?.flannelBackend !== 'wireguard-native') return {};
  const kernelMakes = async () => modules.includes('wireguard') || (await files.exists('/sys/module/wireguard'));
  return { missingForWireguard: await missingForWireguard(files, kernelMakes) };
}

async function readNodes({ files }: Deps, dataDir: string): Promise<NodesFacts> {
  const file = await readNodesFile(files, dataDir).catch(() => undefined);
  const missing = await missingPrograms(files, NAMESPACE_PROGRAMS);
  return { missing, entries: file?.nodes ?? [], network: file?.network };
}

/** The output of a program; undefined when it is missing or fails. */
async function output({ exec }: Deps, program: string, args: readonly string[]): Promise<string | undefined> {
  const result: ExecResult | undefined = await exec.run(program, args, { timeoutMs: 10_000 }).catch(() => undefined);
  return result?.exitCode === 0 ? result.stdout : undefined;
}
