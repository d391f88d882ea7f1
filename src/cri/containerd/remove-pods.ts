import type { Log } from '../../platform/log.ts';
import { isCriCode } from '../cri-error.ts';
import type { CriRuntimeService } from '../gen/cri-types.ts';

/**
 * Stops and removes every pod sandbox of a runtime concurrently. A sandbox that was removed in the meantime is no
 * error, as CRI requires of both calls; containerd 1.6 answers NotFound. Failures are logged and do not stop the
 * others.
 */
export async function removeAllPods(
  runtime: Pick<CriRuntimeService, 'listPodSandbox' | 'stopPodSandbox' | 'removePodSandbox'>,
  log: Pick<Log, 'warn'>,
): Promise<void> {
  const { items } = await runtime.listPodSandbox({});
  const remove = async (podSandboxId: string): Promise<void> => {
    try {
      await runtime.stopPodSandbox({ podSandboxId });
      await runtime.removePodSandbox({ podSandboxId });
    } catch (error) {
      if (!isCriCode(error, 'NotFound')) log.warn('pod sandbox cannot be removed', { podSandboxId, err: error });
    }
  };
  await Promise.all(items.map(({ id }) => remove(id)));
}
