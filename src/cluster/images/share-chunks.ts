/**
 * Splits one stream for several readers, each of which gets every chunk. The readers advance together: the next chunk
 * is read when all of them have requested it, so only one chunk is in memory. A reader that stops before the end must
 * call `return`. Pure.
 */
import { createDeferred } from '../../base/deferred.ts';

interface SharedChunks<T> extends AsyncIterable<T> {
  /** The reader stops, so that others do not wait for it. Repeated calls do nothing. */
  return(): Promise<void>;
}

export function shareChunks<T>(source: AsyncIterable<T>, readers: number): readonly SharedChunks<T>[] {
  const iterator = source[Symbol.asyncIterator]();
  let [left, asking] = [readers, 0];
  let chunk = createDeferred<IteratorResult<T>>();
  const readOn = (): void => {
    if (asking < left || left === 0) return;
    const asked = chunk;
    [asking, chunk] = [0, createDeferred()];
    iterator.next().then(asked.resolve, asked.reject);
  };
  const reader = (): SharedChunks<T> => {
    let isLeft = true;
    const end = async (): Promise<void> => {
      if (!isLeft) return;
      isLeft = false;
      left--;
      readOn();
      if (left === 0) await iterator.return?.();
    };
    const next = (): Promise<IteratorResult<T>> => {
      asking++;
      const { promise } = chunk;
      readOn();
      return promise;
    };
    const chunks = { next, return: () => end().then(() => ({ done: true, value: undefined }) as const) };
    return { [Symbol.asyncIterator]: () => chunks, return: end };
  };
  return Array.from({ length: readers }, reader);
}
