/** How many begin before others have their turn. */
export interface Turns {
  readonly perTurn: number;
  readonly pause: () => Promise<void>;
}

/** `Promise.all` of work that goes on for long, of which not all begins in one turn of the loop. */
export async function beginInTurns<T, R>(
  items: readonly T[],
  begin: (item: T) => Promise<R>,
  { perTurn, pause }: Turns,
): Promise<R[]> {
  const begun: Promise<R>[] = [];
  for (const [at, item] of items.entries()) {
    if (at > 0 && at % perTurn === 0) await pause();
    const work = begin(item);
    work.catch(() => undefined); // What fails before all have begun is reported below.
    begun.push(work);
  }
  return Promise.all(begun);
}
