import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createMemoryLog } from '../sim/log.ts';
import { createNodeExec } from './exec.ts';

const exec = createNodeExec(createMemoryLog());
after(() => exec.close());

const sh = (script: string, options?: Parameters<typeof exec.run>[2]): ReturnType<typeof exec.run> =>
  exec.run('/bin/sh', ['-c', script], options);

test('brings both outputs, the exit code and the environment', async () => {
  const result = await sh('cat; echo "$GREETING" >&2; pwd; exit 3', {
    input: 'in',
    env: { GREETING: 'hi' },
    cwd: '/usr',
  });
  assert.deepEqual(result, { exitCode: 3, stdout: 'in/usr\n', stderr: 'hi\n', timedOut: false });
  assert.equal((await sh('cat | wc -c', { input: new Uint8Array(1_000_000) })).stdout.trim(), '1000000');
  assert.equal((await sh('kill -TERM $$')).exitCode, 143);
  assert.equal((await exec.run('true', [], { input: 'x'.repeat(1_000_000) })).exitCode, 0);
});

test('a zombie counts as ended', async () => {
  // The inner shell ends once the outer one has become a program that does not reap it: a shell may do so at any moment.
  const inner = 'until read -r name < /proc/$PPID/comm && test "$name" = sleep; do :; done';
  const folder = await mkdtemp(join(tmpdir(), 'keelson-exec-'));
  const parent = await exec.startDaemon(
    '/bin/sh',
    ['-c', 'sh -c "$1" & echo $! > "$0"; exec sleep 300', join(folder, 'pid'), inner],
    { logFile: join(folder, 'log') },
  );
  let pid = 0;
  while (!(pid > 0)) pid = Number(await readFile(join(folder, 'pid'), 'utf8').catch(() => ''));
  const state = async (): Promise<string> => (await readFile(`/proc/${pid}/stat`, 'latin1')).split(') ')[1]!.charAt(0);
  while ((await state()) !== 'Z') await new Promise((resolve) => setImmediate(resolve));
  assert.equal(exec.kill(pid, 0), false);
  assert.equal(exec.kill(parent, 0), true);
  exec.kill(parent, 'SIGKILL');
  await rm(folder, { recursive: true });
});

test('a program that is not there is an error with its code', async () => {
  await assert.rejects(exec.run('/no/such/program', []), { code: 'ENOENT' });
  await assert.rejects(exec.run('/etc', []), { code: 'EACCES' });
});

test('the deadline and the signal end the whole process group', async () => {
  // Long enough for the shell to begin, wherever it runs.
  let result = await sh('sleep 600 & echo started; wait', { timeoutMs: 200 });
  for (let timeoutMs = 2_000; result.stdout === '' && timeoutMs < 100_000; timeoutMs *= 4)
    result = await sh('sleep 600 & echo started; wait', { timeoutMs });
  assert.deepEqual(result, { exitCode: 137, stdout: 'started\n', stderr: '', timedOut: true });
  const controller = new AbortController();
  const call = sh('sleep 60', { signal: controller.signal });
  controller.abort(new Error('not wanted'));
  await assert.rejects(call, /not wanted/);
});

test('a child that keeps the output open does not delay the result forever', async () => {
  const result = await sh('sleep 300 & echo $!');
  assert.equal(exec.kill(Number(result.stdout), 'SIGKILL'), true);
});

test('many at once', async () => {
  const results = await Promise.all(Array.from({ length: 20 }, (_, index) => sh(`echo ${index}`)));
  assert.deepEqual(
    results.map(({ stdout }) => Number(stdout)),
    Array.from({ length: 20 }, (_, index) => index),
  );
});

test('daemons write to their log, have a session of their own and outlive the spawner', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'keelson-exec-'));
  const own = createNodeExec(createMemoryLog());
  const logFile = join(folder, 'log');
  const pid = await own.startDaemon('/bin/sh', ['-c', 'echo up; exec sleep 60'], { logFile });
  try {
    await own.run('true', []);
    own.close();
    const session = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]!.split(' ')[3];
    assert.equal(Number(session), pid);
    assert.equal(exec.kill(pid, 0), true);
    await sh(`until grep -q up ${logFile}; do sleep 0.01; done`, { timeoutMs: 100_000 });
    assert.equal(await readFile(logFile, 'utf8'), 'up\n');
  } finally {
    exec.kill(pid, 'SIGKILL');
    await rm(folder, { recursive: true });
  }
  assert.throws(() => exec.kill(0, 'SIGTERM'), RangeError);
  assert.equal(exec.kill(2 ** 22 + 1, 0), false);
});
