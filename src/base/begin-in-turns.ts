/** How many begin before others have their turn. */
export interface Turns {
  readonly perTurn: number;
  readonly pause: () => Promise<void>;
}

/** Begins all work, not all of it in one turn of the loop. */
async function begun<T, R>(
  items: readonly T[],
  begin: (item: T) => Promise<R>,
  { perTurn, pause }: Turns,
): Promise<{ readonly all: readonly Promise<R>[] }> {
  const all: Promise<R>[] = [];
  for (const [at, item] of items.entries()) {
    if (at > 0 && at % perTurn === 0) await pause();
    const work = begin(item);
    work.catch(() => undefined); // What fails before all have begun is reported by the caller.
    all.push(work);
  }
  return { all };
}

/** `Promise.all` of work that goes on for long, of which not all begins in one turn of the loop. */
export async function beginInTurns<T, R>(
  items: readonly T[],
  begin: (item: T) => Promise<R>,
  turns: Turns,
): Promise<R[]> {
  return Promise.all((await begun(items, begin, turns)).all);
}

/** The same as `Promise.allSettled`. */
export async function settleInTurns<T, R>(
  items: readonly T[],
  begin: (item: T) => Promise<R>,
  turns: Turns,
): Promise<PromiseSettledResult<R>[]> {
  return Promise.allSettled((await begun(items, begin, turns)).all);
}
