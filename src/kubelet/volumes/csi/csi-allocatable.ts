/**
 * Periodically asks drivers for their volume limit, if their CSIDriver object requires it. Upstream: updateCSIDriver
 * in pkg/volume/csi/csi_plugin.go.
 */
import type { CancelTimer, Clock } from '../../../platform/clock.ts';
import type { Log } from '../../../platform/log.ts';
import { background } from '../../../platform/unexpected.ts';

export interface AllocatableRefreshDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Seconds between two updates; undefined: the driver requires none. */
  readonly periodSeconds: (driver: string) => Promise<number | undefined>;
  /** Reads the driver's limit and writes it to the API. */
  readonly refresh: (driver: string) => Promise<void>;
}

/** Follows drivers from their registration to their end. */
export interface AllocatableRefresh {
  follow(driver: string): void;
  unfollow(driver: string): void;
}

/** Period in which the driver's setting is read. */
const CHECK_PERIOD_MS = 60_000;

export function createAllocatableRefresh(deps: AllocatableRefreshDeps): AllocatableRefresh {
  const timers = new Map<string, CancelTimer>();

  async function wait(driver: string): Promise<void> {
    const seconds = await deps.periodSeconds(driver).catch((error: unknown) => {
      deps.log.warn('Cannot read the CSIDriver', { driver, err: error });
      return undefined;
    });
    if (!timers.has(driver)) return;
    const delayMs = seconds === undefined ? CHECK_PERIOD_MS : seconds * 1000;
    timers.set(
      driver,
      deps.clock.setTimer(delayMs, () =>
        background(deps.log, 'a CSI driver is followed no more', act(driver, seconds !== undefined)),
      ),
    );
  }

  async function act(driver: string, wanted: boolean): Promise<void> {
    if (wanted)
      await deps
        .refresh(driver)
        .catch((error: unknown) => deps.log.error('Failed to update CSI driver', { driver, err: error }));
    if (timers.has(driver)) await wait(driver);
  }

  return {
    follow(driver) {
      timers.get(driver)?.();
      timers.set(driver, () => undefined);
      background(deps.log, 'a CSI driver is followed no more', wait(driver));
    },
    unfollow(driver) {
      timers.get(driver)?.();
      timers.delete(driver);
    },
  };
}
