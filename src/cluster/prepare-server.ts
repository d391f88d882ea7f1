/** Settles a server's start: where its state is, what it joins, then its instance. Nothing is started here. */
import type { Platform } from '../platform/platform.ts';
import type { ClusterOptions } from './cluster-options.ts';
import { prepareOwnEtcd } from './etcd/prepare-etcd.ts';
import { freePorts } from './gateway/former-data-plane.ts';
import { rootRunDir } from './instance/control-place.ts';
import { readInstanceFile, type InstanceFile } from './instance/instance-file.ts';
import { makeDataDir, prepareInstance, type PreparedInstance } from './instance/prepare-instance.ts';
import { checkBindAddress } from './instance/server-addresses.ts';
import { PreflightError } from './preflight-error.ts';

export interface PreparedServer extends PreparedInstance {
  /** The state is in an etcd of this server's own. */
  readonly ownEtcd: boolean;
}

/** Checks and settles. Throws `PreflightError`, or the signal's reason. */
export async function prepareServer(
  platform: Platform,
  options: ClusterOptions,
  signal: AbortSignal,
): Promise<PreparedServer> {
  const { dataDir } = options;
  await makeDataDir(platform, dataDir);
  const instanceFile = await readInstanceFile(platform.files, dataDir);
  if (instanceFile?.servers !== undefined)
    throw new PreflightError(`${dataDir} is of a machine that joined a cluster; start it with keelson agent`);
  checkBindAddress(options, platform.net.interfaces());
  const place = { runDir: rootRunDir(dataDir), logDir: `${dataDir}/logs` };
  await freePorts(platform, place, [options.httpsPort ?? instanceFile?.httpsPort, instanceFile?.kubeletPort]);
  const etcd = await prepareOwnEtcd(platform, options, instanceFile, signal);
  if (etcd !== undefined && options.snapshots?.log !== undefined)
    throw new PreflightError('--snapshot-log: only with SQLite; etcd keeps no log of its changes');
  const prepared = await prepareInstance(platform, asJoined(options, etcd?.joined ?? instanceFile), instanceFile);
  return { ...prepared, ownEtcd: etcd !== undefined };
}

/** A server that joins another's cluster takes what the cluster has, whatever its own defaults are. */
function asJoined(
  options: ClusterOptions,
  cluster:
    | Pick<InstanceFile, 'clusterCidr' | 'serviceCidr' | 'clusterDomain' | 'cni' | 'dns' | 'flannelBackend'>
    | undefined,
): ClusterOptions {
  if (options.etcd?.join === undefined || cluster === undefined) return options;
  const { clusterCidr, serviceCidr, clusterDomain, cni, dns } = cluster;
  const flannelBackend = options.flannelBackend ?? cluster.flannelBackend;
  return {
    ...options,
    clusterCidr,
    serviceCidr,
    clusterDomain,
    flannelBackend,
    ...(cni && { cni }),
    ...(dns && { dns }),
  };
}
