/** Rotates the log files of containerd and etcd, which do not rotate them. */
import { hasErrorCode } from '../base/errors.ts';
import type { CancelTimer, Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import { rotateLarge } from '../platform/node/log-rotation.ts';

const CHECK_PERIOD_MS = 30_000;
const DAEMONS = ['containerd.log', 'etcd.log'];

/** Checks the files periodically until cancelled. */
export function boundDaemonLogs(
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  logDir: string,
  maxBytes?: number,
): CancelTimer {
  return clock.setTicker(CHECK_PERIOD_MS, () => {
    for (const name of DAEMONS)
      rotateLarge(`${logDir}/${name}`, maxBytes).catch((err: unknown) => {
        if (!hasErrorCode(err, 'ENOENT')) log.warn('a log file cannot be rotated', { file: name, err });
      });
  });
}
