/** Rotates the log files of containerd and etcd, which do not rotate them. */
import { existsSync } from 'node:fs';
import { hasErrorCode } from '../base/errors.ts';
import type { CancelTimer, Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import { rotateLarge } from '../platform/node/log-rotation.ts';

const CHECK_PERIOD_MS = 30_000;
const DAEMONS = ['containerd.log', 'etcd.log'];

/** Checks the files that are there now periodically until cancelled. Without such programs nothing is scheduled. */
export function boundDaemonLogs(
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  logDir: string,
  maxBytes?: number,
): CancelTimer {
  const names = DAEMONS.filter((name) => existsSync(`${logDir}/${name}`));
  if (names.length === 0) return () => undefined;
  return clock.setTicker(CHECK_PERIOD_MS, () => {
    for (const name of names)
      rotateLarge(`${logDir}/${name}`, maxBytes).catch((err: unknown) => {
        if (!hasErrorCode(err, 'ENOENT')) log.warn('a log file cannot be rotated', { file: name, err });
      });
  });
}
