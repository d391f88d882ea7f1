/**
 * One stream for several readers, each of which gets every chunk. They go in step: the next chunk is read when all readers that are
 * left have asked for it, so that one chunk is in memory however long the stream is. Pure.
 */
import { createDeferred } from '../../base/deferred.ts';

export function shareChunks<T>(source: AsyncIterable<T>, readers: number): readonly AsyncIterable<T>[] {
  const iterator = source[Symbol.asyncIterator]();
  let [left, asking] = [readers, 0];
  let next = createDeferred<IteratorResult<T>>();
  const readOn = (): void => {
    if (asking < left || left === 0) return;
    const asked = next;
    [asking, next] = [0, createDeferred()];
    iterator.next().then(asked.resolve, asked.reject);
  };
  const reader = (): AsyncIterator<T> => ({
    next() {
      asking++;
      const { promise } = next;
      readOn();
      return promise;
    },
    // It wants no more: the others do not wait for it.
    async return() {
      left--;
      readOn();
      if (left === 0) await iterator.return?.();
      return { done: true, value: undefined };
    },
  });
  return Array.from({ length: readers }, () => ({ [Symbol.asyncIterator]: reader }));
}
