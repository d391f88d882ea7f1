import type { Platform } from '../../platform/platform.ts';

/** Whoever stops a node waits a minute for it. */
const SLOW_MS = 10_000;

/** Waits for the end of one part of a stop; the log says which part takes long. */
export async function stopPart(
  { clock, log }: Pick<Platform, 'clock' | 'log'>,
  part: string,
  ending: Promise<unknown> | undefined,
): Promise<void> {
  const cancel = clock.setTimer(SLOW_MS, () => log.warn('the stop waits for a part that does not end', { part }));
  try {
    await ending;
  } finally {
    cancel();
  }
}
