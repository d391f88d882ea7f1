/**
 * The changes of a resource for its watches: at once, or, when a webhook must convert the objects, commit by commit
 * after the conversion.
 */
import type { CacheListener, ListenerTrigger } from '../watch-cache/listeners.ts';
import type { GenericStore } from './generic-store.ts';

/** The changes for one watch. */
export interface ResourceEvents {
  /** Registers the watch; the result unregisters it. */
  listen(listener: CacheListener, trigger: ListenerTrigger | undefined): () => void;
  /** Whether the cache has changes that the listener has not yet received. */
  isBehind(): boolean;
}

export interface ChangeTarget {
  /** Called when changes cannot be converted or the listener throws; the watch must end then. */
  fail(error: unknown): void;
  /** Ends a watch that lags too far behind. Absent: it receives each change before the cache applies the next. */
  readonly giveUp?: (() => void) | undefined;
}

export function eventsOf(store: GenericStore, target: ChangeTarget): ResourceEvents {
  const { giveUp } = target;
  const fail = (error: unknown): void => target.fail(error);
  if (store.definition.reading?.convert === undefined)
    return {
      listen(unguarded, trigger) {
        const listener = withFailureHandler(unguarded, fail);
        if (giveUp === undefined) return store.cache.listen(listener, trigger);
        return store.cache.listenPatiently({ listener, giveUp }, trigger);
      },
      isBehind: () => giveUp !== undefined && store.cache.isDispatching,
    };
  let pending = 0;
  return {
    isBehind: () => pending > 0,
    // A trigger needs fields before the conversion: all changes are passed on.
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
            // These changes were encoded after the cache had dropped its frames.
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

function withFailureHandler(listener: CacheListener, fail: (error: unknown) => void): CacheListener {
  return (events) => {
    try {
      listener(events);
    } catch (error) {
      fail(error);
    }
  };
}
