// Runs test files in one process, one after the other: shared modules are loaded once, and warm from the second file on. Each
// file is a run of its own: its hooks apply only to its tests, and nothing of it starts before its turn.
//
//   node tools/run-tests/shared.ts TIMEOUT_MS FILE...
import '../../bin/node-test.cjs';
import { resolve } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import type { TestEvent } from 'node:test/reporters';
import { pathToFileURL } from 'node:url';
import report from './reporter.ts';
import { watchFiles } from './watchdog.ts';

const { run } = await import('node:test');
const [timeout, ...files] = process.argv.slice(2);

/** The events of all files, with one summary at the end. */
async function* oneAfterAnother(): AsyncGenerator<TestEvent> {
  const counts: Record<string, number> = {};
  const began = watchFiles(Number(timeout));
  for (const file of files) {
    // A run ends when the process has no more work; this is checked once each time that it had some.
    await turn();
    began(file);
    const forget = rememberListeners();
    const startedMs = performance.now();
    for await (const event of run({ files: [file], isolation: 'none', timeout: Number(timeout) })) {
      if (event.type !== 'test:summary') {
        yield event as TestEvent;
        continue;
      }
      add(counts, event.data.counts);
      const success = (await loadedWhole(file)) && event.data.success;
      if (!success) process.exitCode = 1;
      const duration_ms = performance.now() - startedMs; // node:test counts from the start of the process
      yield { type: 'test:summary', data: { ...event.data, success, file, duration_ms } } as unknown as TestEvent;
    }
    forget();
  }
  yield { type: 'test:summary', data: { counts, success: process.exitCode === undefined } } as unknown as TestEvent;
}

function add(counts: Record<string, number>, more: object): void {
  for (const [name, count] of Object.entries(more)) counts[name] = (counts[name] ?? 0) + Number(count);
}

/** Every run adds listeners to the process; the returned function removes those of this run. */
function rememberListeners(): () => void {
  const names = ['uncaughtException', 'unhandledRejection', 'beforeExit'];
  const before = names.map((name) => process.listeners(name as NodeJS.Signals));
  return () => {
    for (const [at, name] of names.entries())
      for (const listener of process.listeners(name as NodeJS.Signals))
        if (!before[at]!.includes(listener)) process.off(name, listener);
  };
}

/** node:test does not notice a file that fails halfway, after its first tests, so the import of its module is checked. */
async function loadedWhole(file: string): Promise<boolean> {
  try {
    await import(pathToFileURL(resolve(file)).href);
    return true;
  } catch (error) {
    console.error(`${file} failed while it was loaded:`, error);
    return false;
  }
}

for await (const text of report(oneAfterAnother())) process.stdout.write(text);
