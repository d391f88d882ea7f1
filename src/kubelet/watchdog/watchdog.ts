/**
 * Notifies systemd's watchdog twice per period, as long as the kubelet is healthy by the checks of its /healthz. An
 * unhealthy kubelet, or one whose event loop is blocked, is restarted by systemd. Upstream: pkg/kubelet/watchdog.
 */
import { errorMessage } from '../../base/errors.ts';
import type { Platform } from '../../platform/platform.ts';

export interface WatchdogDeps {
  readonly platform: Pick<Platform, 'clock' | 'random' | 'log' | 'serviceManager'>;
  /** Why the kubelet is unhealthy; empty when it is healthy. */
  readonly healthProblems: () => readonly string[];
}

const WATCHDOG = 'WATCHDOG=1';
const TRIES = 2;
const RETRY_MS = 1000;
const RETRY_JITTER = 0.1;

/** Starts notifying, if there is a watchdog. @throws Error for an invalid setting of systemd */
export function startWatchdog(deps: WatchdogDeps, signal: AbortSignal): void {
  const { clock, serviceManager } = deps.platform;
  const log = deps.platform.log.child('watchdog');
  const periodMs = periodOf(serviceManager.watchdogMs);
  if (periodMs === undefined) return log.debug('Systemd watchdog is not enabled');
  const intervalMs = periodMs / 2;
  log.info('Starting systemd watchdog with interval', { intervalMs });
  const feed = async (): Promise<void> => {
    while (!signal.aborted) {
      await feedOnce(deps, signal);
      await clock.sleep(intervalMs, signal);
    }
  };
  feed().catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}

function periodOf(ask: () => number | undefined): number | undefined {
  try {
    return ask();
  } catch (error) {
    throw new Error(`create health checker: configure watchdog: ${errorMessage(error)}`, { cause: error });
  }
}

async function feedOnce({ platform, healthProblems }: WatchdogDeps, signal: AbortSignal): Promise<void> {
  const log = platform.log.child('watchdog');
  const problems = healthProblems();
  if (problems.length > 0)
    return log.error('Do not notify watchdog this iteration as the kubelet is reportedly not healthy', { problems });
  for (let left = TRIES; left > 0; left--) {
    try {
      return await platform.serviceManager.notify(WATCHDOG);
    } catch (error) {
      log.warn('Operation failed, retrying', { err: error });
      if (left > 1) await platform.clock.sleep(RETRY_MS * (1 + RETRY_JITTER * platform.random.next()), signal);
    }
  }
  log.error('Failed to notify watchdog', { retries: TRIES });
}
