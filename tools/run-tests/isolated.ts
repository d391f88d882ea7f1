// Runs test files in separate processes, a number of them at a time, in the given order, which `node --test` would sort.
//
//   node tools/run-tests/isolated.ts CONCURRENCY TIMEOUT_MS FILE...
import { run } from 'node:test';
import report from './reporter.ts';

const [concurrency, timeout, ...files] = process.argv.slice(2);
const events = run({ files, concurrency: Number(concurrency), timeout: Number(timeout) });
events.on('test:summary', ({ success }) => {
  if (!success) process.exitCode = 1;
});
for await (const text of report(events)) process.stdout.write(text);
