import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Exec, ExecResult } from './exec.ts';
import { runOrThrow } from './run-or-throw.ts';

function programs(result: Partial<ExecResult>): { exec: Pick<Exec, 'run'>; ran: unknown[] } {
  const ran: unknown[] = [];
  const exec: Pick<Exec, 'run'> = {
    run: async (...call) => {
      ran.push(call);
      return { exitCode: 0, stdout: '', stderr: '', timedOut: false, ...result };
    },
  };
  return { exec, ran };
}

test('the output of a program that succeeds is returned, and its input is passed on', async () => {
  const { exec, ran } = programs({ stdout: 'a table', stderr: 'a warning' });
  assert.equal(await runOrThrow(exec, ['nft', '-f', '-'], { input: 'table ip t' }), 'a table');
  assert.equal(await runOrThrow(exec, ['ip', 'link']), 'a table');
  assert.deepEqual(ran, [
    ['nft', ['-f', '-'], { input: 'table ip t' }],
    ['ip', ['link'], {}],
  ]);
});

test('a program that fails rejects with its name and at most 1,000 characters of its errors', async () => {
  const { exec } = programs({ exitCode: 1, stderr: `  ${'e'.repeat(3000)}\n` });
  await assert.rejects(runOrThrow(exec, ['nft', '-f', '-'], { input: 'x' }), { message: `nft: ${'e'.repeat(1000)}` });
  const refused = programs({ exitCode: 2, stderr: 'Cannot find device\n' });
  await assert.rejects(runOrThrow(refused.exec, ['nsenter', '-n', '--', 'ip', 'link'], { name: 'ip' }), {
    message: 'ip: Cannot find device',
  });
});
