/**
 * The process to be killed: writes to the store at its first argument with 16 clients and prints each acknowledged write at once
 * as a line `revision key number`. The second argument is the first number.
 */
import { writeSync } from 'node:fs';
import { createNodeClock } from '../../src/platform/node/clock.ts';
import { createSqliteStore } from '../../src/storage/sqlite/sqlite-store.ts';

const store = await createSqliteStore({ path: process.argv[2]!, platform: { clock: createNodeClock() } });
let next = Number(process.argv[3]);

/** Prints a line synchronously and completely: the pipe accepts a line or, while its reader is behind, nothing. */
function report(line: string): void {
  for (;;)
    try {
      writeSync(1, line);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
}

async function client(name: number): Promise<never> {
  for (;;) {
    const number = next++;
    const key = `/kill/${name}/${number % 20}`;
    // Every seventh write is a deletion, which must not be undone either.
    const value = Buffer.from(`${number} `.padEnd(1200, '.'));
    const result = number % 7 === 0 ? await store.delete({ key }) : await store.put({ key, value });
    if (result.ok) report(`${result.revision} ${key} ${number % 7 === 0 ? 'deleted' : number}\n`);
  }
}

await Promise.all(Array.from({ length: 16 }, (_, name) => client(name)));
