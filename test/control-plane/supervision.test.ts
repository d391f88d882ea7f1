/** After any abnormal end keelson is restarted; after a regular end it is not. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import { hasEnded, keelsonProgram, run, start } from '../integration/fixtures/programs.ts';
import { until } from '../integration/fixtures/until.ts';
import { repositoryRoot } from '../../tools/repository.ts';
import { rootRunDir } from '../../src/cluster/instance/control-place.ts';
import { HEAP_ENVIRONMENT } from '../../src/cli/heap-environment.ts';
import { freePort } from '../../src/platform/node/free-port-fixture.ts';
import { parentOf, supervisedCluster, type SupervisedCluster } from './supervised.ts';

const supervise = join(repositoryRoot, 'bin/supervise');
const preload = join(import.meta.dirname, 'crash-on-signal.cjs');

describe('bin/supervise', () => {
  // Ends with the given code in the first run, with 0 in the second.
  const ending = (code: string) => `[ -z "$KEELSON_RESTARTS" ] && { ${code}; }; echo "last: $KEELSON_LAST_END"; exit 0`;
  for (const [what, script, outcome] of [
    ['an end by request', 'exit 0', { code: 0, restarts: false }],
    ['a first start that failed', 'exit 1', { code: 1, restarts: false }],
    ['wrong usage', 'exit 2', { code: 2, restarts: false }],
    ['SIGTERM', 'kill -TERM $$', { code: 143, restarts: false }],
    ['SIGINT', 'exit 130', { code: 130, restarts: false }],
    ['an unexpected error', 'exit 70', { code: 0, restarts: true }],
    ['a failure after the start', 'exit 75', { code: 0, restarts: true }],
    ['an abort, as of V8 without memory', 'kill -ABRT $$', { code: 0, restarts: true }],
    ['a segmentation fault', 'kill -SEGV $$', { code: 0, restarts: true }],
    ['kill -9', 'kill -KILL $$', { code: 0, restarts: true }],
  ] as const)
    test(`${what}: ${outcome.restarts ? 'starts the command again' : `ends with ${outcome.code}`}`, async () => {
      const { code, stdout } = await run('sh', [supervise, 'sh', '-c', ending(script)]);
      assert.deepEqual([code, /^last: \d+ \d+ \d+$/m.test(stdout)], [outcome.code, outcome.restarts], stdout);
    });

  test('pauses grow in a crash loop, start over after a healthy run, and a signal ends them', async (t) => {
    // Two seconds of health in the third run; the test does not require three.
    const script = '[ "$KEELSON_RESTARTS" = 2 ] && /bin/sleep 2; exit 70';
    const env = { ...process.env, KEELSON_HEALTHY_SECONDS: '2', PATH: endlessPauses(t) };
    const running = start('sh', [supervise, 'sh', '-c', script], { env });
    await running.until(/restart 5 follows in 2 s/);
    const pauses = [...running.stderr().matchAll(/follows in (\d+) s/g)].map(([, seconds]) => Number(seconds));
    assert.deepEqual(pauses, [0, 1, 0, 1, 2]);
    running.kill('SIGTERM');
    assert.equal((await running.ended(60_000)).code, 0);
  });

  test('a signal at the very beginning of a pause ends it', async (t) => {
    const env = { ...process.env, PATH: endlessPauses(t) };
    for (let round = 0; round < 5; round++) {
      const running = start('sh', [supervise, 'sh', '-c', 'exit 70'], { env });
      await running.until(/restart 3 follows in 2 s/);
      running.kill('SIGTERM');
      assert.equal((await running.ended(60_000)).code, 0);
    }
  });
});

/** A PATH whose `sleep` does not end by itself for more than a second. */
function endlessPauses(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'keelson-pauses-'));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'sleep'), '#!/bin/sh\n[ "$1" -gt 1 ] && exec /bin/sleep 600\nexec /bin/sleep "$1"\n', {
    mode: 0o755,
  });
  return `${folder}:${process.env['PATH']}`;
}

describe('a supervised cluster', { skip: process.platform === 'linux' ? false : 'needs /proc' }, () => {
  let cluster: SupervisedCluster;
  before(async () => {
    cluster = await supervisedCluster({ KEELSON_HEALTHY_SECONDS: '1' });
    assert.equal((await cluster.up()).code, 0);
  });
  after(() => cluster?.remove());

  test('kill -9: it is restarted, and status and a private report state how often and why', async () => {
    const { pid, restarts } = (await cluster.status())!;
    assert.equal(restarts, undefined);
    process.kill(pid, 'SIGKILL');
    const now = await cluster.statusAfter(pid);
    assert.deepEqual([now.restarts?.count, now.restarts?.lastEnd], [1, 'signal SIGKILL']);
    const file = now.restarts?.report ?? '';
    assert.deepEqual(
      [statSync(file).mode & 0o777, statSync(join(file, '..')).mode & 0o777].map((mode) => mode.toString(8)),
      ['600', '700'],
    );
    assert.equal((JSON.parse(readFileSync(file, 'utf8')) as { pid: number }).pid, pid);
    assert.match((await cluster.keelson('status')).stdout, /^restarts +1, the last .* after signal SIGKILL/m);
  });

  test('kill -9 of the supervisor affects nothing; another one replaces it', async () => {
    const { pid } = (await cluster.status())!;
    process.kill(parentOf(pid), 'SIGKILL');
    await until('another supervisor', async () =>
      readdirSync('/proc').some((name) => {
        try {
          return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(`--adopt\0${pid}\0`);
        } catch {
          return false;
        }
      }),
    );
    assert.equal((await cluster.status())?.pid, pid);
    process.kill(pid, 'SIGKILL');
    const now = await cluster.statusAfter(pid);
    assert.deepEqual([now.restarts?.count, now.restarts?.lastEnd.startsWith('unknown')], [2, true]);
  });

  test('down ends an adopted process’ successor and its supervisor; up starts again', async () => {
    const { pid } = (await cluster.status())!;
    const supervisor = parentOf(pid);
    assert.equal((await cluster.keelson('down')).code, 0);
    assert.deepEqual([pid, supervisor].map(hasEnded), [true, true]);
    assert.equal((await cluster.up()).code, 0);
    assert.equal((await cluster.status())?.restarts, undefined);
  });

  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    test(`${signal} to the process or to its supervisor is a regular end`, async () => {
      for (const which of ['process', 'supervisor'] as const) {
        const { pid } = (await cluster.status())!;
        const supervisor = parentOf(pid);
        process.kill(which === 'process' ? pid : supervisor, signal);
        await until('both end', async () => hasEnded(pid) && hasEnded(supervisor));
        assert.equal((await cluster.up()).code, 0);
      }
    });
});

for (const [crash, end, found] of [
  ['throw', 'unexpected error', /TypeError.*an error that nobody caught.*throwUnexpected/s],
  ['reject', 'unexpected error', /a promise that nobody awaits/],
  ['memory', 'Allocation failed - JavaScript heap out of memory', /"memoryLimit"/],
] as const)
  test(`an end by ${crash}: a report, and a restart`, async (t) => {
    const options = `--require=${preload} --max-old-space-size=150`;
    const cluster = await supervisedCluster({ NODE_OPTIONS: options, KEELSON_CRASH: crash });
    t.after(() => cluster.remove());
    assert.equal((await cluster.up()).code, 0);
    const { pid } = (await cluster.status())!;
    process.kill(pid, 'SIGUSR2');
    const { restarts } = await cluster.statusAfter(pid);
    assert.equal(restarts?.lastEnd, end);
    assert.match(readFileSync(restarts.report, 'utf8'), found);
    assert.deepEqual(readdirSync(join(cluster.dataDir, 'crashes')).length, 1);
  });

test('between two runs, down ends the supervisor and up replaces it', async (t) => {
  const cluster = await supervisedCluster({ PATH: endlessPauses(t) });
  t.after(() => cluster.keelson('down', '--delete-data'));
  assert.equal((await cluster.up()).code, 0);
  /** Kills until the supervisor pauses for long. */
  const intoPause = async (): Promise<number> => {
    const { pid } = (await cluster.status())!;
    const supervisor = parentOf(pid);
    const log = (): string => readFileSync(join(cluster.dataDir, 'logs/keelson.log'), 'utf8');
    const before = log().length;
    for (let last = pid; !/follows in [2-9] s/.test(log().slice(before));) {
      process.kill(last, 'SIGKILL');
      await until('the next run', async () => {
        const children = readFileSync(`/proc/${supervisor}/task/${supervisor}/children`, 'utf8').trim();
        const paused = /follows in [2-9] s/.test(log().slice(before));
        if (!paused && children !== '' && Number(children) !== last && isKeelson(Number(children)))
          return (last = Number(children));
        return paused;
      });
    }
    return supervisor;
  };
  const first = await intoPause();
  assert.match((await cluster.keelson('status')).stderr, /ended abnormally and will be started again/);
  assert.equal((await cluster.up()).code, 0);
  assert.ok(hasEnded(first));
  const second = await intoPause();
  await cluster.remove();
  assert.ok(hasEnded(second));
});

function isKeelson(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('bin/keelson');
  } catch {
    return false;
  }
}

test('--detach ends with the reason when the start fails before the control socket responds', async (t) => {
  const cluster = await supervisedCluster();
  t.after(() => {
    for (const path of [cluster.dataDir, rootRunDir(cluster.dataDir)]) rmSync(path, { recursive: true, force: true });
  });
  mkdirSync(join(cluster.dataDir, 'keelson.lock'));
  const { code, stderr } = await cluster.up();
  assert.deepEqual([code, /^keelson: cannot use the data directory .*EISDIR/m.test(stderr)], [1, true], stderr);
});

test('--restart=never: the process itself, with the settings of the C heap, and without a restart', async (t) => {
  const cluster = await supervisedCluster();
  t.after(() => cluster.remove());
  const args = [
    'up',
    '--simulate',
    '--restart=never',
    `--data-dir=${cluster.dataDir}`,
    `--https-port=${await freePort()}`,
  ];
  const { MALLOC_ARENA_MAX: _heap, ...env } = process.env;
  const running = start(process.execPath, [keelsonProgram, ...args], { env });
  const { pid } = await cluster.statusAfter(0);
  assert.equal(pid, running.pid);
  const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  for (const [name, value] of Object.entries(HEAP_ENVIRONMENT))
    assert.ok(environment.includes(`${name}=${value}`), name);
  running.kill('SIGKILL');
  await running.ended();
  assert.equal(await cluster.status(), undefined);
});
