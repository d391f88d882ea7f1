// Runs test files, each in a process of its own, so many at a time, in the order given: `node --test` would sort them.
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
