/**
 * Takes back what drivers of devices have said of the node when nobody could get those devices ready: pods would be sent
 * here and wait. All of it when the kubelet starts, for no driver has registered yet; one driver's when it has been away for
 * a while. Drivers that (re)turn publish again. Upstream: wipeResourceSlices in pkg/kubelet/cm/dra/plugin. Not here: whether
 * a registered driver also answers; registered is usable.
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

/** Wipes behind the caller's back; what fails is tried again until the signal aborts. */
export interface SliceWiper {
  /** Wipes all slices of the node at once. */
  wipeAll(signal: AbortSignal): void;
  /** The driver has no plugin any more: wipes its slices unless it is back within 30 s. */
  driverGone(driver: string, signal: AbortSignal): void;
  /** Its plugin is there: nothing is wiped. */
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
