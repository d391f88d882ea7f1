/**
 * Examines a machine before it joins a cluster or starts again as its agent: programs, ports, ranges, and the
 * cluster's settings. These are kept, so that an agent starts while no server answers.
 */
import type { Platform } from '../../platform/platform.ts';
import { freePorts } from '../gateway/former-data-plane.ts';
import { rootRunDir } from '../instance/control-place.ts';
import { checkAgainst, readInstanceFile, writeInstanceFile, type InstanceFile } from '../instance/instance-file.ts';
import { deriveInstance, type Instance } from '../instance/instance.ts';
import { claimRanges } from '../instance/range-claims.ts';
import type { PortReservation } from '../instance/port-reservation.ts';
import { checkPrograms, chooseRanges, foreignRoutes } from '../instance/preflight.ts';
import { PreflightError } from '../preflight-error.ts';
import {
  checkFlannelBackend,
  holdKubeletPort,
  holdPort,
  makeDataDir,
  ownDevices,
  programsOf,
} from '../instance/prepare-instance.ts';
import type { AgentOptions } from './agent-options.ts';
import { discoverCluster, type JoinedCluster } from './discover-cluster.ts';

export interface PreparedAgent {
  readonly instance: Instance;
  readonly servers: readonly string[];
  readonly caPem: string;
  readonly cniBinDirs: readonly string[];
  readonly kubeletPort: PortReservation;
  /** The local port of the balancer over several servers; absent with one server. */
  readonly apiPort?: PortReservation;
}

/** Next to the servers' own, as on k3s's agents. */
const API_PORT = 6444;

/** Checks, joins if necessary, and settles. Throws `PreflightError`, or the signal's reason. */
export async function prepareAgent(
  platform: Platform,
  options: AgentOptions,
  signal: AbortSignal,
): Promise<PreparedAgent> {
  const { files, exec, crypto } = platform;
  const { dataDir, nodeName, containerRuntimeEndpoint } = options;
  await makeDataDir(platform, dataDir);
  const instanceFile = await readInstanceFile(files, dataDir);
  if (instanceFile !== undefined && instanceFile.servers === undefined)
    throw new PreflightError(
      `${dataDir} is of a server (keelson up or server); an agent needs a --data-dir of its own`,
    );
  const servers = options.servers ?? instanceFile?.servers ?? [];
  if (servers.length === 0) throw new PreflightError('this machine has not joined yet; --server is needed');
  const caFile = `${dataDir}/pki/ca.crt`;
  const cluster = await settings(platform, { options, kept: instanceFile, caFile, servers }, signal);
  const flannelBackend = options.flannelBackend ?? cluster.flannelBackend;
  if (flannelBackend !== cluster.flannelBackend)
    platform.log.warn('This node connects otherwise than its cluster: pods of other nodes are not reached', {
      flannelBackend,
      cluster: cluster.flannelBackend,
    });
  const joined = { ...cluster, flannelBackend };
  if (instanceFile !== undefined) checkAgainst(instanceFile, { ...joined, nodeName }, dataDir);
  await claimRanges(platform, dataDir, async (taken) => {
    // Conflicting ranges are refused, since an agent cannot choose its own.
    if (instanceFile === undefined)
      chooseRanges(joined, await foreignRoutes(exec, ownDevices(platform, dataDir)), taken);
    return joined;
  });
  const { caPem, published: _, ...ranges } = joined;
  const cniBinDirs = await checkPrograms(files, programsOf({ ...options, cni: joined.cni }));
  await checkFlannelBackend(platform, { dataDir, cni: joined.cni }, joined.flannelBackend);
  const place = { runDir: rootRunDir(dataDir), logDir: `${dataDir}/logs` };
  await freePorts(platform, place, [instanceFile?.kubeletPort, instanceFile?.httpsPort, options.registryPort]);
  const kubeletPort = await holdKubeletPort(instanceFile?.kubeletPort);
  const apiPort = servers.length > 1 ? await holdPort('the API', instanceFile?.httpsPort || API_PORT) : undefined;
  const httpsPort = apiPort?.port ?? 0;
  await files.makeDir(`${dataDir}/pki`, { mode: 0o700 });
  await files.writeFileAtomic(caFile, caPem, { mode: 0o644 });
  const file: InstanceFile = {
    format: 1,
    nodeName,
    ...ranges,
    httpsPort,
    kubeletPort: kubeletPort.port,
    containerRuntimeEndpoint,
    servers,
  };
  if (JSON.stringify(file) !== JSON.stringify(instanceFile)) await writeInstanceFile(files, dataDir, file);
  const instance = deriveInstance({ dataDir, nodeName, httpsPort, ...ranges }, (text) => crypto.sha256Hex(text));
  return { instance, servers, caPem, cniBinDirs, kubeletPort, apiPort };
}

interface Sources {
  readonly options: AgentOptions;
  readonly kept: InstanceFile | undefined;
  readonly caFile: string;
  readonly servers: readonly string[];
}

/** The kept settings, or at the first start the cluster's. */
async function settings(
  platform: Platform,
  { options, kept, caFile, servers }: Sources,
  signal: AbortSignal,
): Promise<JoinedCluster> {
  const { files } = platform;
  if (kept !== undefined && (await files.exists(caFile))) {
    const {
      clusterCidr,
      serviceCidr,
      clusterDomain,
      cni = 'keelson',
      dns = 'keelson',
      flannelBackend = 'vxlan',
    } = kept;
    return { clusterCidr, serviceCidr, clusterDomain, cni, dns, flannelBackend, caPem: await files.readText(caFile) };
  }
  if (options.token === undefined)
    throw new PreflightError('this machine has not joined yet; --token is needed (keelson token create, on a server)');
  return discoverCluster(platform, servers, options.token, signal);
}
