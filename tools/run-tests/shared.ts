// Runs test files in this one process, which loads what they share once.
//
//   node tools/run-tests/shared.ts TIMEOUT_MS FILE...
import './untracked.ts';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import report from './reporter.ts';

const { run } = await import('node:test');
const [timeout, ...files] = process.argv.slice(2);

/** A file that failed halfway, after its first tests, goes unnoticed by node:test: its module says so. */
async function loadedWhole(file: string): Promise<void> {
  try {
    await import(pathToFileURL(resolve(file)).href);
  } catch (error) {
    console.error(`${file} failed while it was loaded:`, error);
    process.exitCode = 1;
  }
}

run({ files, isolation: 'none', timeout: Number(timeout) })
  .on('test:summary', ({ file, success }) => {
    if (file === undefined && !success) process.exitCode = 1;
    if (file === undefined) for (const each of files) void loadedWhole(each);
  })
  .compose(report)
  .pipe(process.stdout);
