/** Stops the instance of a data directory in order, together with its supervisor. */
import type { Platform } from '../../platform/platform.ts';
import { isInstanceThere, requestControl } from './control-client.ts';
import { olderInstancePid } from './older-instance.ts';
import { supervisorOf } from './supervisor-record.ts';

const STOP_TIMEOUT_MS = 60_000;
const CHECK_PERIOD_MS = 20;
/**
 * The longest time from the end of the control socket to that of the process; after it, the pid may belong to another
 * process.
 */
const EXIT_TIMEOUT_MS = 5000;

/** Resolves, when everything has ended, to whether anything ran. Rejects when it does not end. */
export async function endInstance(
  { clock, exec }: Pick<Platform, 'clock' | 'exec'>,
  dataDir: string,
): Promise<boolean> {
  const supervisor = supervisorOf(dataDir); // before the instance ends and forgets it
  const answer = (await requestControl(dataDir, 'stop')) as { pid?: number; stopping?: boolean } | undefined;
  const pid = answer?.pid ?? supervisor ?? olderInstancePid(dataDir);
  if (pid === undefined) return false;
  // Between two runs, and early in one, the supervisor gets the signal and forwards it.
  if (answer?.stopping !== true) exec.kill(supervisor ?? pid, 'SIGTERM');
  const deadlineMs = clock.monotonicMs() + STOP_TIMEOUT_MS;
  const isLeft = async (): Promise<boolean> =>
    (supervisor !== undefined && exec.kill(supervisor, 0)) || (await isThere(dataDir));
  while (await isLeft()) {
    if (clock.monotonicMs() > deadlineMs) throw new Error(`keelson (pid ${pid}) does not stop`);
    await clock.sleep(CHECK_PERIOD_MS);
  }
  const exitedMs = clock.monotonicMs() + EXIT_TIMEOUT_MS;
  while (exec.kill(pid, 0) && clock.monotonicMs() < exitedMs) await clock.sleep(CHECK_PERIOD_MS);
  return true;
}

async function isThere(dataDir: string): Promise<boolean> {
  return olderInstancePid(dataDir) !== undefined || (await isInstanceThere(dataDir));
}
