/** Waits for a pod's volumes; the error names the missing ones. Upstream: WaitForAttachAndMount. */
import { onAbort } from '../../base/abort.ts';
import type { Clock } from '../../platform/clock.ts';
import type { PodVolumes } from './pod-volumes.ts';

/** Upstream's podAttachAndMountTimeout: two minutes and three seconds. */
const TIMEOUT_MS = 123_000;

/** Resolves when all are ready. Rejects at once when a volume cannot be processed, after the timeout, or on abort. */
export async function waitForPodVolumes(clock: Clock, volumes: PodVolumes, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  if (volumes.settled) return;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const check = (): void => {
    if (volumes.settled) resolve();
    else if (volumes.isRefused) reject(missingVolumes(volumes, ''));
  };
  const off = volumes.onChange(check);
  const cancel = clock.setTimer(TIMEOUT_MS, () => reject(missingVolumes(volumes, 'context deadline exceeded')));
  const unhook = onAbort(signal, () => reject(signal.reason));
  try {
    check();
    await promise;
  } finally {
    off();
    cancel();
    unhook();
  }
}

function missingVolumes(volumes: PodVolumes, why: string): Error {
  const { unmounted, unattached, unprocessed, texts } = volumes.problems();
  const reasons = [...texts, ...(why === '' ? [] : [why])].join('; ');
  return new Error(
    `unmounted volumes=[${unmounted.join(' ')}], unattached volumes=[${unattached.join(' ')}], failed to process volumes=[${unprocessed.join(' ')}]: ${reasons}`,
  );
}
