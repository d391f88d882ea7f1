/**
 * Decides before a server's first start whether it runs its own etcd, new (`--cluster-init`) or joined (`--join`).
 * Later starts keep the decision. Nothing is started here.
 */
import type { Platform } from '../../platform/platform.ts';
import type { ClusterOptions } from '../cluster-options.ts';
import { advertisedAddress } from '../instance/server-addresses.ts';
import type { InstanceFile } from '../instance/instance-file.ts';
import type { JoinedServer } from '../join/server-material.ts';
import { checkCriticalSettings } from '../join/critical-settings.ts';
import { requireProgram } from '../instance/preflight.ts';
import { PreflightError } from '../preflight-error.ts';
import { readEtcdFile, writeEtcdFile } from './etcd-file.ts';

export interface PreparedEtcd {
  /** Ranges and domain of the cluster that this server joins; absent at other starts. */
  readonly joined?: Omit<JoinedServer, 'material'>;
}

/** Undefined: the state is in another store. Throws `PreflightError`, or the signal's reason. */
export async function prepareOwnEtcd(
  platform: Platform,
  options: ClusterOptions,
  instanceFile: InstanceFile | undefined,
  signal: AbortSignal,
): Promise<PreparedEtcd | undefined> {
  const { dataDir, etcd } = options;
  const file = await readEtcdFile(platform.files, dataDir);
  if (file === undefined && etcd === undefined) return undefined;
  if (options.store.kind !== 'sqlite')
    throw new PreflightError(
      `this server keeps its state in an etcd of its own; --store ${options.store.kind} excludes that`,
    );
  await requireProgram(platform.files, 'etcd', 'etcd-server');
  if (file !== undefined && instanceFile !== undefined) return {};
  if (etcd === undefined)
    throw new PreflightError('the first start was cut short: use --cluster-init or --join as before');
  if (instanceFile !== undefined)
    throw new PreflightError(
      `the cluster in ${dataDir} keeps its state elsewhere; --cluster-init and --join are for a new --data-dir`,
    );
  const address = advertisedAddress(options, platform.net.interfaces());
  const host = address.includes(':') ? `[${address}]` : address;
  const own = {
    name: options.nodeName,
    clientUrl: `https://${host}:${etcd.clientPort}`,
    peerUrl: `https://${host}:${etcd.peerPort}`,
  };
  if (etcd.join === undefined) {
    const initial = { state: 'new', cluster: `${own.name}=${own.peerUrl}` } as const;
    await writeEtcdFile(platform.files, dataDir, { ...own, others: [], initial });
    return {};
  }
  const { fetchServerMaterial, writeServerMaterial } = await import('../join/server-material.ts');
  const { material, ...joined } = await fetchServerMaterial(platform, etcd.join, signal);
  checkCriticalSettings(options, joined.published ?? {});
  if (material.encrypted && options.encryptionConfigFile === undefined)
    throw new PreflightError(
      'the cluster’s state is encrypted: give this server the same --encryption-provider-config',
    );
  await writeServerMaterial(platform, `${dataDir}/pki`, material);
  const others = material.etcdEndpoints.filter((url) => url !== own.clientUrl);
  if (file === undefined) await writeEtcdFile(platform.files, dataDir, { ...own, others });
  return { joined };
}
