import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { createNodeThreads } from './threads.ts';

const program = new URL('./text-server-fixture.ts', import.meta.url);
const limits = { heapMb: 32, smallLength: 10, idleMs: 5 };
const task = (name: string, deadlineMs = 20_000): { name: string; deadlineMs: number } => ({ name, deadlineMs });
const newPool = () => createNodeThreads().pool(program, limits)!;

test('a job that exceeds its time or memory is ended, and the next one runs', async () => {
  const pool = newPool();
  await assert.rejects(pool.run(task('endless', 50), 'a long text'), { name: 'ThreadLimitError', limit: 'deadline' });
  await assert.rejects(pool.run(task('grows'), 'a long text'), { name: 'ThreadLimitError', limit: 'memory' });
  await assert.rejects(pool.run(task('fails'), 'why'), { name: 'TypeError', message: 'why' });
  await assert.rejects(pool.run(task('none'), ''), { message: 'a thread knows no task none' });
  assert.equal(await pool.run(task('upper'), 'a text'), 'A TEXT');
});

test('long jobs leave a thread to short ones, and the loop to everybody', async () => {
  const pool = newPool();
  const long = Array.from({ length: 3 }, () => pool.run(task('endless', 300), 'a long text'));
  const ended = Promise.allSettled(long);
  assert.equal(await pool.run(task('upper'), 'short'), 'SHORT');
  assert.deepEqual(
    (await ended).map(({ status }) => status),
    ['rejected', 'rejected', 'rejected'],
  );
});

test('a queue that is too long is refused', async () => {
  const pool = newPool();
  const all = Array.from({ length: 205 }, () => pool.run(task('upper'), 'a long text'));
  const refused = (await Promise.allSettled(all)).filter(({ status }) => status === 'rejected');
  assert.equal(refused.length, 4);
});

test('a process whose threads have no more work ends at once', async () => {
  const code = `
    import(${JSON.stringify(new URL('./threads.ts', import.meta.url).href)}).then(async ({ createNodeThreads }) => {
      const limits = { heapMb: 32, smallLength: 10, idleMs: 3_600_000 };
      const pool = createNodeThreads().pool(new URL(${JSON.stringify(program.href)}), limits);
      const task = { name: 'upper', deadlineMs: 60_000 };
      console.log(await pool.run(task, 'one'), await pool.run(task, 'two'));
    });`;
  const args = ['--conditions=keelson-source', '--eval', code];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 20_000 });
  assert.equal(stdout, 'ONE TWO\n');
});
