/**
 * The handler of uncaught errors in separate processes: an error of an abort callback ends nothing, any other ends the process.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { EXIT_INTERNAL } from './supervision.ts';

const directory = new URL('.', import.meta.url);

/** Runs statements after the net was installed, with the log and the metrics of a platform. */
function run(statements: string): { readonly status: number | null; readonly stdout: string; readonly stderr: string } {
  const program = `
    import { installLastNet, logContained } from '${new URL('last-net.ts', directory).href}';
    import { onAbort } from '${new URL('../base/abort.ts', directory).href}';
    import { createNodePlatform } from '${new URL('../platform/node/node-platform.ts', directory).href}';
    installLastNet();
    const broken = () => { throw new TypeError('broken'); };
    ${statements}`;
  const args = ['--conditions=keelson-source', '--input-type=module', '--eval', program];
  return spawnSync(process.execPath, args, { encoding: 'utf8' });
}

const ABORT_WITH_BROKEN = `
  const controller = new AbortController();
  let others = 0;
  onAbort(controller.signal, broken);
  onAbort(controller.signal, () => others++);
  controller.abort();
  await new Promise(setImmediate);`;

test('an abort callback that throws is logged once with its stack and counted, and the process continues', () => {
  const { status, stdout, stderr } = run(`
    const platform = createNodePlatform({ startSpawner: false });
    logContained(platform.log);
    ${ABORT_WITH_BROKEN}
    console.log(others, await platform.metrics.expose());
    platform.close();`);
  assert.equal(status, 0, stderr);
  assert.match(stdout, /^1 /);
  assert.match(stdout, /^keelson_unexpected_errors_total\{component=""\} 1$/m);
  assert.equal(stderr.match(/TypeError: broken/g)?.length, 1, stderr);
  assert.match(stderr, /at broken/);
});

test('without a log, the error of an abort callback goes to standard error and the process continues', () => {
  const { status, stdout, stderr } = run(`${ABORT_WITH_BROKEN} console.log(others);`);
  assert.deepEqual([status, stdout], [0, '1\n'], stderr);
  assert.match(stderr, /TypeError: broken/);
});

test('any other uncaught error ends the process with the exit code for a restart', () => {
  const { status, stderr } = run('process.nextTick(broken); setInterval(() => undefined, 1000);');
  assert.equal(status, EXIT_INTERNAL);
  assert.match(stderr, /an unexpected error ends the process[^]*TypeError: broken/);
});
