/** Syncs the status of one pod at a time, and once more when it was requested during a sync. */
import type { Log } from '../../platform/log.ts';
import { background } from '../../platform/unexpected.ts';

export interface PodStatusSyncsDeps {
  readonly log: Log;
  readonly sync: (uid: string) => Promise<void>;
  /** Called when a sync fails before the lifetime has ended. */
  readonly failed: (uid: string, error: unknown) => void;
}

export class PodStatusSyncs {
  readonly #deps: PodStatusSyncsDeps;
  readonly #syncing = new Map<string, { again: boolean }>();

  constructor(deps: PodStatusSyncsDeps) {
    this.#deps = deps;
  }

  /** The lifetime is that of all syncs: a request during a sync keeps the one with which the sync began. */
  request(uid: string, lifetime: AbortSignal): void {
    const inProgress = this.#syncing.get(uid);
    if (inProgress !== undefined) inProgress.again = true;
    else background(this.#deps.log, 'a pod status could not be written', this.#syncUntilDone(uid, lifetime));
  }

  async #syncUntilDone(uid: string, lifetime: AbortSignal): Promise<void> {
    const current = { again: false };
    this.#syncing.set(uid, current);
    do {
      current.again = false;
      try {
        await this.#deps.sync(uid);
      } catch (error) {
        if (lifetime.aborted) break;
        this.#deps.failed(uid, error);
      }
    } while (current.again && !lifetime.aborted);
    this.#syncing.delete(uid);
  }
}
