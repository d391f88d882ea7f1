/**
 * Who this API server is among those of its store: its identity lease, and under the lease's name which versions it stores.
 * Upstream: the same, in the hooks after the start of kube-apiserver.
 */
import { onAbort } from '../../base/abort.ts';
import { startIdentityLease, type IdentityLease } from '../../apiserver/bootstrap/identity-lease.ts';
import { publishStorageVersions, recordsStorageVersions } from '../../apiserver/bootstrap/storage-versions.ts';
import type { ServerStorage } from '../../apiserver/server-storage.ts';
import type { Platform } from '../../platform/platform.ts';

/** Kept from `start` to `stop`. */
export interface ServerIdentity {
  /** Resolves when the lease is written, or when it is stopped before. `signal` stops it too. */
  start(signal: AbortSignal): Promise<void>;
  stop(): void;
}

/** `address`: `host:port` the server is reached at. */
export function createServerIdentity(platform: Platform, storage: ServerStorage, address: string): ServerIdentity {
  let lease: IdentityLease | undefined;
  return {
    async start(signal) {
      const { hostname } = await platform.host.info();
      if (signal.aborted) return;
      const started = startIdentityLease({ ...platform, objects: storage.objects }, { hostname, address });
      lease = started;
      onAbort(signal, () => started.stop());
      const records = { ...storage, clock: platform.clock };
      // Of a server without a lease the records would be taken for those of one that is gone.
      if (recordsStorageVersions(records) && (await started.stands))
        await publishStorageVersions(records, started.name);
    },
    stop: () => lease?.stop(),
  };
}
