/**
 * The changes of a resource as its watches see them: at once, or, where objects must be converted by a call first, one
 * commit after the other when that is done.
 */
import type { CacheListener, ListenerTrigger } from '../watch-cache/listeners.ts';
import type { GenericStore } from './generic-store.ts';

/** A stream of changes for one watch. */
export interface ResourceEvents {
  /** Registers the watch; the result takes it off. */
  listen(listener: CacheListener, trigger: ListenerTrigger | undefined): () => void;
  /** Whether changes the cache holds have yet to reach the listener. */
  isBehind(): boolean;
}

export interface Hearer {
  /** Called when changes cannot be converted or the listener throws; the watch must end then. */
  fail(error: unknown): void;
  /** Ends a watch that lags too far behind. Absent: it hears of each change before the cache takes the next. */
  readonly giveUp?: (() => void) | undefined;
}

export function eventsOf(store: GenericStore, hearer: Hearer): ResourceEvents {
  const { giveUp } = hearer;
  const fail = (error: unknown): void => hearer.fail(error);
  if (store.definition.reading?.convert === undefined)
    return {
      listen(unguarded, trigger) {
        const listener = failing(unguarded, fail);
        if (giveUp === undefined) return store.cache.listen(listener, trigger);
        return store.cache.listenPatiently({ listener, giveUp }, trigger);
      },
      isBehind: () => giveUp !== undefined && store.cache.isDispatching,
    };
  let pending = 0;
  return {
    isBehind: () => pending > 0,
    // A trigger reads fields before anything is converted: all changes are taken.
    listen(listener) {
      let ended = false;
      let tail = Promise.resolve();
      const leave = store.cache.listen((events) => {
        pending++;
        tail = tail.then(async () => {
          try {
            const due = giveUp && store.services.clock.turn();
            if (due !== undefined) await due;
            if (ended) return;
            await store.prepare(
              events.flatMap(({ cell, previous }) => (previous === undefined ? [cell] : [cell, previous])),
            );
            if (!ended) listener(events);
            // The cache forgot the frames of these changes before they were made.
            for (const event of events) event.frames = undefined;
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

function failing(listener: CacheListener, fail: (error: unknown) => void): CacheListener {
  return (events) => {
    try {
      listener(events);
    } catch (error) {
      fail(error);
    }
  };
}
