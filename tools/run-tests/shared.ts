// Runs test files in this one process, which loads what they share once.
//
//   node tools/run-tests/shared.ts TIMEOUT_MS FILE...
import './untracked.ts';
import report from './reporter.ts';

const { run } = await import('node:test');
const [timeout, ...files] = process.argv.slice(2);

run({ files, isolation: 'none', timeout: Number(timeout) })
  .on('test:summary', ({ file, success }) => {
    if (file === undefined && !success) process.exitCode = 1;
  })
  .compose(report)
  .pipe(process.stdout);
