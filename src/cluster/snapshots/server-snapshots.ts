/** Snapshots of a server on this machine: of its SQLite store, of an external etcd, or of its own etcd member. */
import type { Platform } from '../../platform/platform.ts';
import type { Store } from '../../storage/store.ts';
import type { ClusterOptions } from '../cluster-options.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { Instance } from '../instance/instance.ts';
import type { EtcdStoreChoice } from '../store/store-options.ts';
import type { Snapshots } from './run-snapshots.ts';

interface Deps {
  readonly platform: Platform;
  readonly controlPlane: Pick<ControlPlane, 'clientFor'>;
  readonly store: Store | undefined;
}

interface Config {
  readonly instance: Pick<Instance, 'dataDir' | 'nodeName'>;
  readonly options: Pick<ClusterOptions, 'snapshots' | 'store'>;
  readonly ownEtcd: boolean;
}

/** Without a schedule, loads nothing and resolves to undefined. */
export async function createServerSnapshots(
  { platform, controlPlane, store }: Deps,
  { instance, options, ownEtcd }: Config,
): Promise<Snapshots | undefined> {
  if (options.snapshots === undefined || store === undefined) return undefined;
  const { createSnapshots } = await import('./run-snapshots.ts');
  const { dataDir, nodeName } = instance;
  const etcd = ownEtcd ? await ownMember(platform, dataDir) : etcdOf(options);
  const deps = { platform, clientFor: controlPlane.clientFor, source: { store, etcd } };
  return createSnapshots(deps, { options: options.snapshots, dataDir, nodeName });
}

async function ownMember(platform: Platform, dataDir: string): Promise<EtcdStoreChoice | undefined> {
  const { ownEtcdChoice } = await import('../etcd/own-snapshots.ts');
  return ownEtcdChoice(platform, dataDir);
}

function etcdOf({ store }: Config['options']): EtcdStoreChoice | undefined {
  return store.kind === 'etcd' ? store : undefined;
}
