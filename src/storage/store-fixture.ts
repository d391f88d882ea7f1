/** What the store suite is run on. */
import type { VirtualClock } from '../platform/sim/virtual-clock.ts';
import type { Store } from './store.ts';

/** A store to test. */
export interface StoreFixture {
  readonly store: Store;
  /** Absent: the store's keys expire in real time, wherever it runs. */
  readonly clock?: VirtualClock;
  /** Closes the store and opens it again on what it kept; absent for stores that keep nothing. */
  reopen?(): Promise<Store>;
  /** Takes away what the fixture made. The store is closed by then. */
  cleanUp?(): Promise<void>;
}

/** Runs a test on a store of its own. */
export type StoreTest = (title: string, body: (fixture: StoreFixture) => Promise<void>) => void;
