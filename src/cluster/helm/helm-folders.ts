/** The folders of charts: one for the user's chart files, one for runs of helm. */
import { errorMessage } from '../../base/errors.ts';
import { sleepUnlessAborted } from '../../platform/clock.ts';
import type { Platform } from '../../platform/platform.ts';
import { logFailedRound } from '../../platform/unexpected.ts';

const RETRY_MS = 10_000;

/** Creates the folders, and removes runs of a killed process. Failures are retried until the signal aborts. */
export async function makeHelmFolders(
  { files, clock, log }: Pick<Platform, 'files' | 'clock' | 'log'>,
  { runs, charts }: { readonly runs: string; readonly charts: string },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await files.remove(runs, { mayChange: true });
      await files.makeDir(runs, { mode: 0o711 });
      return await files.makeDir(charts, { mode: 0o750 });
    } catch (error) {
      logFailedRound(log, 'HelmCharts wait for their folders', { reason: errorMessage(error) });
      await sleepUnlessAborted(clock, RETRY_MS, signal);
    }
  }
}
