/** What the parts of the suite of stores share. */
import type { VirtualClock } from '../platform/sim/virtual-clock.ts';
import { prefixEnd, type Store, StoreError } from './store.ts';

/** A store to test. */
export interface StoreFixture {
  readonly store: Store;
  /** Absent: the store's keys expire in real time, wherever it runs. */
  readonly clock?: VirtualClock;
  /** Closes the store and opens it again with its data; absent for stores without persistence. */
  reopen?(): Promise<Store>;
  /** Removes the files of the fixture. The store is closed by then. */
  cleanUp?(): Promise<void>;
}

export type StoreTest = (title: string, body: (fixture: StoreFixture) => Promise<void>) => void;

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
export const text = (value: Uint8Array | undefined): string | undefined =>
  value === undefined ? undefined : new TextDecoder().decode(value);
export const hasCode = (code: StoreError['code']) => (error: unknown) =>
  error instanceof StoreError && error.code === code;
export const all = { start: '', end: prefixEnd('') };
