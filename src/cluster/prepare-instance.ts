/** Looks at the machine and the data directory before a start, and settles every choice. */
import type { Platform } from '../platform/platform.ts';
import type { ClusterOptions } from './cluster-options.ts';
import { checkAgainst, readInstanceFile, writeInstanceFile, type InstanceFile } from './instance-file.ts';
import { instanceHash, type InstanceOptions } from './instance.ts';
import { reservePort, type PortReservation } from './port-reservation.ts';
import { checkPrograms, chooseRanges, foreignRoutes, portHolder, PreflightError } from './preflight.ts';

const KUBELET_PORT = 10_250;

/** The settled choices. */
export interface PreparedInstance {
  readonly instanceOptions: InstanceOptions;
  readonly cniBinDirs: readonly string[];
  /** Held until the kubelet's server takes its place. */
  readonly kubeletPort: PortReservation;
}

/** Checks and settles. Throws `PreflightError`. */
export async function prepareInstance(platform: Platform, options: ClusterOptions): Promise<PreparedInstance> {
  const { files } = platform;
  await makeDataDir(platform, options.dataDir);
  const kept = await readInstanceFile(files, options.dataDir);
  if (kept?.servers !== undefined)
    throw new PreflightError(`${options.dataDir} is of a machine that joined a cluster; start it with keelson agent`);
  if (kept !== undefined) checkAgainst(kept, options, options.dataDir);
  const cniBinDirs =
    options.disableAgent === true ? [] : await checkPrograms(files, options.containerRuntimeEndpoint === undefined);
  const holder = await portHolder(files, options.httpsPort);
  if (holder !== undefined)
    throw new PreflightError(`port ${options.httpsPort} is taken by ${holder}; choose another with --https-port`);
  const ranges = kept ?? chooseRanges(options, await routesOf(platform, options));
  const kubeletPort = await holdKubeletPort(kept?.kubeletPort);
  const file: InstanceFile = {
    format: 1,
    nodeName: options.nodeName,
    clusterCidr: ranges.clusterCidr,
    serviceCidr: ranges.serviceCidr,
    clusterDomain: options.clusterDomain,
    httpsPort: options.httpsPort,
    kubeletPort: kubeletPort.port,
    ...(options.containerRuntimeEndpoint === undefined
      ? {}
      : { containerRuntimeEndpoint: options.containerRuntimeEndpoint }),
  };
  if (JSON.stringify(file) !== JSON.stringify(kept)) await writeInstanceFile(files, options.dataDir, file);
  const { dataDir, nodeName, clusterDomain, httpsPort } = options;
  return {
    instanceOptions: {
      dataDir,
      nodeName,
      clusterDomain,
      httpsPort,
      clusterCidr: ranges.clusterCidr,
      serviceCidr: ranges.serviceCidr,
    },
    cniBinDirs,
    kubeletPort,
  };
}

/** A control plane without a node routes nothing: nothing collides. */
function routesOf(platform: Platform, { dataDir, disableAgent }: ClusterOptions): ReturnType<typeof foreignRoutes> {
  return disableAgent === true ? Promise.resolve([]) : foreignRoutes(platform.exec, ownDevices(platform, dataDir));
}

/** Makes the data directory and sees that it can be written. Throws `PreflightError`. */
export async function makeDataDir({ files }: Platform, dataDir: string): Promise<void> {
  try {
    await files.makeDir(dataDir, { mode: 0o700 });
    const probe = `${dataDir}/.write-test`;
    await files.writeFile(probe, '');
    await files.remove(probe);
  } catch (error) {
    throw new PreflightError(`cannot use the data directory ${dataDir}: ${(error as Error).message}`);
  }
}

/** Devices of this instance: their routes are no collision. */
export function ownDevices({ crypto }: Platform, dataDir: string): string[] {
  const hash = instanceHash(dataDir, (text) => crypto.sha256Hex(text));
  return [`kl${hash}`, `ks${hash}`, `kv${hash}`];
}

/** The kubelet's port may differ between instances of a machine: the Node object tells it. Throws `PreflightError`. */
export async function holdKubeletPort(wanted = KUBELET_PORT): Promise<PortReservation> {
  for (let port = wanted; port < wanted + 200; port++) {
    const held = await reservePort(port);
    if (held !== undefined) return held;
  }
  throw new PreflightError(`no free port for the kubelet between ${wanted} and ${wanted + 199}`);
}
