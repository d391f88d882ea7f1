/** A snapshot of an etcd cluster's member, as `etcdctl snapshot save` writes it (database, then its SHA-256). */
import type { Clock } from '../../platform/clock.ts';
import { EtcdClient, type EtcdClientConfig } from './etcd-client.ts';
import { storeErrorOf } from './errors.ts';

/** The bytes in order. Rejects with `StoreError` when the stream breaks. */
export async function* readEtcdSnapshot(
  deps: { readonly clock: Clock },
  config: EtcdClientConfig,
  signal: AbortSignal,
): AsyncIterable<Uint8Array> {
  const client = new EtcdClient(deps, config);
  try {
    // Chooses a member that answers, before the stream depends on it.
    await client.call('Maintenance/Status', {}, { doing: 'asking for the status' });
    for await (const part of client.stream('Maintenance/Snapshot', {}, signal))
      yield (part as { readonly blob: Uint8Array }).blob;
  } catch (error) {
    throw storeErrorOf(error, { doing: 'taking a snapshot', writes: false });
  } finally {
    client.close();
  }
}
