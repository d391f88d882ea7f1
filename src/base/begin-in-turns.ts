/** How many begin before the event loop gets a turn. */
export interface Turns {
  readonly perTurn: number;
  readonly pause: () => Promise<void>;
}

/** Begins all work, spread over several turns of the event loop. */
async function beginAll<T, R>(
  items: readonly T[],
  begin: (item: T) => Promise<R>,
  { perTurn, pause }: Turns,
): Promise<{ readonly all: readonly Promise<R>[] }> {
  const all: Promise<R>[] = [];
  for (const [at, item] of items.entries()) {
    if (at > 0 && at % perTurn === 0) await pause();
    const work = begin(item);
    work.catch(() => undefined); // An error before all have begun is reported by the caller.
    all.push(work);
  }
  return { all };
}

/** `Promise.all` for lasting work, whose start is spread over several turns of the event loop. */
export async function beginInTurns<T, R>(
  items: readonly T[],
  begin: (item: T) => Promise<R>,
  turns: Turns,
): Promise<R[]> {
  return Promise.all((await beginAll(items, begin, turns)).all);
}

/** The same as `Promise.allSettled`. */
export async function settleInTurns<T, R>(
  items: readonly T[],
  begin: (item: T) => Promise<R>,
  turns: Turns,
): Promise<PromiseSettledResult<R>[]> {
  return Promise.allSettled((await beginAll(items, begin, turns)).all);
}
