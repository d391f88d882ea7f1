/** The requirements for every store. Each implementation runs this suite from its own test file. */
import { describe, test } from 'node:test';
import { scanTests } from './scan-suite.ts';
import { lifeTests } from './store-life-suite.ts';
import { rangeTests } from './store-range-suite.ts';
import type { StoreFixture } from './store-test-fixture.ts';
import { watchTests } from './store-watch-suite.ts';
import { writeTests } from './store-write-suite.ts';

/** Runs the suite; `open` makes a new empty store for each test. */
export function describeStore(name: string, open: () => Promise<StoreFixture>): void {
  const storeTest = (title: string, body: (fixture: StoreFixture) => Promise<void>): void => {
    test(title, async () => {
      const fixture = await open();
      try {
        await body(fixture);
      } finally {
        await fixture.store.close();
        await fixture.cleanUp?.();
      }
    });
  };
  describe(name, () => {
    writeTests(storeTest);
    rangeTests(storeTest);
    scanTests(storeTest);
    watchTests(storeTest);
    lifeTests(storeTest);
  });
}
