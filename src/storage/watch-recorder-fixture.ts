/** Records the events of a store's watch, for the suite of the stores. */
import assert from 'node:assert/strict';
import type { Store, StoreEvent, StoreWatch } from './store.ts';

const text = (value: Uint8Array | undefined): string | undefined =>
  value === undefined ? undefined : new TextDecoder().decode(value);

/** One line per event, for comparing. */
const brief = (event: StoreEvent): string =>
  `${event.revision} ${event.type} ${event.key}=${text(event.value) ?? ''} since ${event.createRevision ?? '-'}`;

/** The events of a watch. */
export interface Recorder {
  readonly watch: StoreWatch;
  readonly batches: string[][];
  readonly lines: string[];
  readonly errors: Error[];
  /** Resolves when `count` events arrived; the store's own work brings them. */
  events(count: number): Promise<void>;
  seen(revision: number): Promise<void>;
  failed(): Promise<Error>;
}

/** Watches a range and records its events. */
export function record(store: Store, range: { start: string; end: string; afterRevision: number }): Recorder {
  const batches: string[][] = [];
  const errors: Error[] = [];
  let revision = 0;
  let wake = Promise.withResolvers<void>();
  const signal = (): void => {
    wake.resolve();
    wake = Promise.withResolvers<void>();
  };
  const until = async (condition: () => boolean): Promise<void> => {
    while (!condition()) {
      if (errors.length > 0) throw errors[0]!;
      await wake.promise;
    }
  };
  const watch = store.watch(range, {
    onEvents(events, at) {
      assert.ok(at >= revision, 'revisions never go back');
      assert.ok(events.every((event) => event.revision <= at));
      batches.push(events.map(brief));
      revision = at;
      signal();
    },
    onProgress(at) {
      assert.ok(at >= revision, 'revisions never go back');
      revision = at;
      signal();
    },
    onError(error) {
      errors.push(error);
      signal();
    },
  });
  return {
    watch,
    batches,
    get lines() {
      return batches.flat();
    },
    errors,
    events: (count) => until(() => batches.flat().length >= count),
    seen: (at) => until(() => revision >= at),
    failed: async () => {
      while (errors.length === 0) await wake.promise;
      return errors[0]!;
    },
  };
}
