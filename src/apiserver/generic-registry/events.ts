/**
 * The changes of a resource as its watches see them: at once, or, where objects must be converted by a call first, one
 * commit after the other when that is done.
 */
import type { CacheListener } from '../watch-cache/watch-cache.ts';
import type { GenericStore } from './generic-store.ts';

/** A stream of changes for one watch. */
export interface ResourceEvents {
  /** Registers the watch; the result takes it off. */
  listen(listener: CacheListener): () => void;
  /** What the listener has seen everything up to. */
  revision(): number;
}

/** Makes it. `fail` is told when changes cannot be converted; nothing follows then. */
export function eventsOf(store: GenericStore, fail: (error: unknown) => void): ResourceEvents {
  const { hub } = store.services;
  if (store.definition.reading?.convert === undefined)
    return { listen: (listener) => store.cache.listen(listener), revision: () => hub.revision };
  let pending = 0;
  let reached = hub.revision;
  return {
    revision: () => (pending === 0 ? hub.revision : reached),
    listen(listener) {
      let ended = false;
      let tail = Promise.resolve();
      const leave = store.cache.listen((events) => {
        pending++;
        tail = tail.then(async () => {
          try {
            if (ended) return;
            await store.prepare(
              events.flatMap(({ cell, previous }) => (previous === undefined ? [cell] : [cell, previous])),
            );
            if (!ended) listener(events);
            // The cache forgot the frames of these changes before they were made.
            for (const event of events) event.frames = undefined;
            reached = events.at(-1)!.revision;
          } catch (error) {
            if (!ended) fail(error);
          } finally {
            pending--;
          }
        });
      });
      return () => {
        ended = true;
        leave();
      };
    },
  };
}
