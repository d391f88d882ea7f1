/**
 * Deletes the node's ResourceSlices while no driver can prepare their devices: pods would be scheduled here and wait. All slices
 * go when the kubelet starts, since no driver has registered yet; those of one driver when it has been unregistered for 30 s.
 * A driver that registers publishes them again. Upstream: wipeResourceSlices in pkg/kubelet/cm/dra/plugin. Differs: a registered
 * driver counts as usable, whether or not it answers.
 */
import type { ResourceSlice } from '../../api/gen/resource-v1.ts';
import { isReason } from '../../api/status-error.ts';
import { linkedController } from '../../base/abort.ts';
import { createBackoff } from '../../base/backoff.ts';
import type { ResourceClient } from '../../client/client.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { Random } from '../../platform/random.ts';
import { background } from '../../platform/unexpected.ts';

/** The time a driver may be absent, as when its pod is replaced. Upstream's. */
const WIPING_DELAY_MS = 30_000;
const BACKOFF = { initialMs: 1000, maxMs: 5 * 60_000, jitter: 0.2 } as const;

export interface SliceWiperDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly slices: Pick<ResourceClient<ResourceSlice>, 'deleteCollection'>;
  readonly nodeName: string;
}

/** Wipes in the background; failed deletions are retried until the signal aborts. */
export interface SliceWiper {
  /** Wipes all slices of the node at once. */
  wipeAll(signal: AbortSignal): void;
  /** The driver has no plugin any more: wipes its slices unless it is back within 30 s. */
  driverGone(driver: string, signal: AbortSignal): void;
  /** The driver has registered: its slices stay. */
  driverBack(driver: string): void;
}

export function createSliceWiper(deps: SliceWiperDeps): SliceWiper {
  const { clock, random, log, slices, nodeName } = deps;
  const pending = new Map<string, { abort(): void }>();

  /** Never rejects. */
  async function wipe(driver: string | undefined, delayMs: number, signal: AbortSignal): Promise<void> {
    const fieldSelector = `spec.nodeName=${nodeName}${driver === undefined ? '' : `,spec.driver=${driver}`}`;
    const backoff = createBackoff(BACKOFF, () => random.next());
    for (let waitMs = delayMs; ; waitMs = backoff.nextMs()) {
      try {
        await clock.sleep(waitMs, signal);
        await slices.deleteCollection({ fieldSelector, signal });
        return;
      } catch (error) {
        if (signal.aborted || isReason(error, 'NotFound')) return; // Not found: the resource is not served.
        log.warn('Deleting ResourceSlices failed, will retry', { fieldSelector, err: error });
      }
    }
  }

  return {
    wipeAll: (signal) => background(log, 'ResourceSlices could not be deleted', wipe(undefined, 0, signal)),
    driverGone(driver, signal) {
      if (pending.has(driver)) return;
      const absence = linkedController(signal);
      pending.set(driver, absence);
      background(
        log,
        'ResourceSlices could not be deleted',
        wipe(driver, WIPING_DELAY_MS, absence.signal).finally(() => {
          absence.dispose();
          if (pending.get(driver) === absence) pending.delete(driver);
        }),
      );
    },
    driverBack(driver) {
      pending.get(driver)?.abort();
      pending.delete(driver);
    },
  };
}
