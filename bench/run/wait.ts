// Waiting with deadlines, and summaries of samples.

/** Resolves after this many milliseconds. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Repeats a check until it holds. @throws Error naming what did not occur within `timeoutMs` */
export async function until(
  check: () => Promise<boolean>,
  { what, timeoutMs, everyMs }: { what: string; timeoutMs: number; everyMs: number },
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await check())) {
    if (performance.now() > deadline) throw new Error(`${what} did not come within ${timeoutMs / 1000} s`);
    await sleep(everyMs);
  }
}

export function median(samples: readonly number[]): number {
  return samples.toSorted((a, b) => a - b)[Math.floor(samples.length / 2)] ?? Number.NaN;
}

/** Processes `count` items with this many at a time; resolves to the duration in milliseconds. */
export async function inParallel(
  { count, width }: { count: number; width: number },
  work: (index: number) => Promise<void>,
): Promise<number> {
  let next = 0;
  const startedMs = performance.now();
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: Math.min(width, count) }, worker));
  return performance.now() - startedMs;
}
