/** Examines the machine before a start, and settles the names, ranges and ports of an instance. */
import { errorMessage } from '../../base/errors.ts';
import type { Files } from '../../platform/files.ts';
import type { Platform } from '../../platform/platform.ts';
import type { ClusterOptions } from '../cluster-options.ts';
import { checkAgainst, writeInstanceFile, type InstanceFile } from './instance-file.ts';
import { instanceHash, type FlannelBackend, type InstanceOptions } from './instance.ts';
import { claimRanges, type Ranges } from './range-claims.ts';
import { reservePort, type PortReservation } from './port-reservation.ts';
import { checkPrograms, chooseRanges, foreignRoutes, portHolder, type OwnPrograms } from './preflight.ts';
import { PreflightError } from '../preflight-error.ts';

/** The preferred port at the first start. */
export const KUBELET_PORT = 10_250;
export const HTTPS_PORT = 6443;

export interface PreparedInstance {
  readonly instanceOptions: InstanceOptions;
  readonly cniBinDirs: readonly string[];
  /** Held until the kubelet's server replaces it. */
  readonly kubeletPort: PortReservation;
  /** Held likewise, if the API server's port was chosen automatically. */
  readonly apiPort: PortReservation | undefined;
}

/** `kept`: the settings of an earlier start. Throws `PreflightError`. */
export async function prepareInstance(
  platform: Platform,
  options: ClusterOptions,
  instanceFile: InstanceFile | undefined,
): Promise<PreparedInstance> {
  const { files } = platform;
  if (instanceFile !== undefined) checkAgainst(instanceFile, options, options.dataDir);
  const cniBinDirs = options.disableAgent === true ? [] : await checkPrograms(files, programsOf(options));
  const { httpsPort, reservation: apiPort } = await chooseApiPort(files, options.httpsPort ?? instanceFile?.httpsPort);
  const ranges = await chooseClusterRanges(platform, options, instanceFile);
  const kubeletPort = await holdKubeletPort(instanceFile?.kubeletPort);
  const flannelBackend = options.flannelBackend ?? instanceFile?.flannelBackend;
  if (options.disableAgent !== true) await checkFlannelBackend(platform, options, flannelBackend);
  const file: InstanceFile = {
    format: 1,
    nodeName: options.nodeName,
    clusterCidr: ranges.clusterCidr,
    serviceCidr: ranges.serviceCidr,
    clusterDomain: options.clusterDomain,
    httpsPort,
    kubeletPort: kubeletPort.port,
    containerRuntimeEndpoint: options.containerRuntimeEndpoint,
    cni: options.cni,
    dns: options.etcd?.join === undefined || options.dns === undefined ? undefined : options.dns,
    flannelBackend,
  };
  if (JSON.stringify(file) !== JSON.stringify(instanceFile)) await writeInstanceFile(files, options.dataDir, file);
  const { dataDir, nodeName, clusterDomain } = options;
  return {
    instanceOptions: {
      dataDir,
      nodeName,
      clusterDomain,
      httpsPort,
      clusterCidr: ranges.clusterCidr,
      serviceCidr: ranges.serviceCidr,
      cni: options.cni,
      dns: options.dns,
      flannelBackend,
    },
    cniBinDirs,
    kubeletPort,
    apiPort,
  };
}

/** A configured port must be free; otherwise the first free one is held. Throws `PreflightError`. */
async function chooseApiPort(
  files: Files,
  chosen: number | undefined,
): Promise<{ readonly httpsPort: number; readonly reservation: PortReservation | undefined }> {
  if (chosen === undefined) {
    const reservation = await holdPort('the API server', HTTPS_PORT);
    return { httpsPort: reservation.port, reservation };
  }
  const holder = await portHolder(files, chosen);
  if (holder !== undefined)
    throw new PreflightError(`port ${chosen} is taken by ${holder}; choose another with --https-port`);
  return { httpsPort: chosen, reservation: undefined };
}

/** The programs that a node with these options runs itself. */
export function programsOf(options: {
  readonly containerRuntimeEndpoint?: string;
  readonly cni?: 'keelson' | 'none';
}): OwnPrograms {
  return { ownContainerd: options.containerRuntimeEndpoint === undefined, ownCni: options.cni !== 'none' };
}

/** Throws `PreflightError` where the machine lacks what encrypts between nodes. */
export async function checkFlannelBackend(
  platform: Platform,
  { dataDir, cni }: { readonly dataDir: string; readonly cni?: 'keelson' | 'none' },
  backend: FlannelBackend | undefined,
): Promise<void> {
  if (backend !== 'wireguard-native') return;
  if (cni === 'none')
    throw new PreflightError('--flannel-backend wireguard-native: with --cni none your plugin connects the nodes');
  const { kernelMakesWireguard, missingForWireguard } = await import('../network/wireguard/device.ts');
  const device = `kw${instanceHash(dataDir, (text) => platform.crypto.sha256Hex(text))}`;
  const missing = await missingForWireguard(platform.files, () => kernelMakesWireguard(platform, device));
  if (missing.length > 0)
    throw new PreflightError(`--flannel-backend wireguard-native needs what is missing: ${missing.join(', ')}`);
}

/** Without a node no route can conflict. */
async function chooseClusterRanges(
  platform: Platform,
  options: ClusterOptions,
  instanceFile: InstanceFile | undefined,
): Promise<Ranges> {
  const { dataDir, disableAgent } = options;
  if (disableAgent === true) return instanceFile ?? chooseRanges(options, []);
  return claimRanges(platform, dataDir, async (taken): Promise<Ranges> => {
    if (instanceFile !== undefined) return instanceFile;
    const routes = await foreignRoutes(platform.exec, ownDevices(platform, dataDir));
    return chooseRanges(options, routes, taken);
  });
}

/** The entries by which a data directory is recognized; an open directory with other content is not one. */
const OWN_ENTRIES = ['instance.json', 'state.db', 'pki', 'admin.kubeconfig', 'logs', 'etcd', 'keelson.lock'];

/** Removes other users' access to an existing directory, which has keys, tokens and the store. */
async function closeToOthers(files: Files, dataDir: string): Promise<void> {
  const { mode } = await files.stat(dataDir);
  if ((mode & 0o077) === 0) return;
  const entries = await files.readDir(dataDir);
  const isShared = (mode & 0o1000) !== 0;
  if (isShared || (entries.length > 0 && !entries.some((name) => OWN_ENTRIES.includes(name))))
    throw new Error(
      `others may enter it (mode ${(mode & 0o7777).toString(8)}) and it holds files that are not Keelson's; use an empty directory, or chmod 700`,
    );
  await files.chmod(dataDir, 0o700);
}

/** Creates the data directory, closes it to other users and checks that it is writable. Throws `PreflightError`. */
export async function makeDataDir({ files }: Pick<Platform, 'files'>, dataDir: string): Promise<void> {
  try {
    await files.makeDir(dataDir, { mode: 0o700 });
    await closeToOthers(files, dataDir);
    const probe = `${dataDir}/.write-test`;
    await files.writeFile(probe, '');
    await files.remove(probe);
  } catch (error) {
    throw new PreflightError(`cannot use the data directory ${dataDir}: ${errorMessage(error)}`);
  }
}

/** Devices of this instance, whose routes are no conflict. */
export function ownDevices({ crypto }: Pick<Platform, 'crypto'>, dataDir: string): string[] {
  const hash = instanceHash(dataDir, (text) => crypto.sha256Hex(text));
  return [`kl${hash}`, `kn${hash}`, `ks${hash}`, `kv${hash}`, `kw${hash}`];
}

/**
 * Holds the kubelet's port, which may differ between instances of a machine, since the Node object names it. Throws
 * `PreflightError`.
 */
export function holdKubeletPort(wanted = KUBELET_PORT): Promise<PortReservation> {
  return holdPort('the kubelet', wanted);
}

/** Holds the first free port from the preferred one on. Throws `PreflightError`. */
export async function holdPort(what: string, wanted: number): Promise<PortReservation> {
  for (let port = wanted; port < wanted + 200; port++) {
    const held = await reservePort(port);
    if (held !== undefined) return held;
  }
  throw new PreflightError(`no free port for ${what} between ${wanted} and ${wanted + 199}`);
}
