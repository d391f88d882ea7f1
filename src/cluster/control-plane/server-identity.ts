/**
 * The identity of this API server among those of its store: its identity lease, and the StorageVersion records under
 * the lease's name. Upstream: post-start hooks of kube-apiserver.
 */
import { onAbort } from '../../base/abort.ts';
import { startIdentityLease, type IdentityLease } from '../../apiserver/bootstrap/identity-lease.ts';
import { publishStorageVersions, recordsStorageVersions } from '../../apiserver/bootstrap/storage-versions.ts';
import type { ServerStorage } from '../../apiserver/server-storage.ts';
import type { Platform } from '../../platform/platform.ts';

/** Kept from `start` to `stop`. */
export interface ServerIdentity {
  /** Resolves when the lease is written, or when it is stopped first. `signal` stops it too. */
  start(signal: AbortSignal): Promise<void>;
  stop(): void;
}

/** `address`: `host:port` of the server. */
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
      // Without a lease, its records would look like those of a server that is gone.
      if (recordsStorageVersions(records) && (await started.stands))
        await publishStorageVersions(records, started.name);
    },
    stop: () => lease?.stop(),
  };
}
