import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { HEAP_ENVIRONMENT } from './heap-environment.ts';

const supervise = fileURLToPath(new URL('../../bin/supervise', import.meta.url));

function environmentOfChild(env: NodeJS.ProcessEnv, ...args: readonly string[]): Record<string, string> {
  const printed = execFileSync('/bin/sh', [supervise, ...args, 'env'], { env, encoding: 'utf8' });
  return Object.fromEntries(printed.split('\n').map((line) => line.split('=') as [string, string]));
}

for (const { title, args } of [
  { title: 'a supervised process', args: [] },
  { title: 'a process without a supervisor', args: ['--alone'] },
])
  test(`${title} gets our C heap settings unless the user set others`, () => {
    const { PATH } = process.env;
    const names = Object.keys(HEAP_ENVIRONMENT);
    const chosen = Object.fromEntries(names.map((name) => [name, '7']));
    const found = (env: Record<string, string>): object => Object.fromEntries(names.map((name) => [name, env[name]]));
    assert.deepEqual(found(environmentOfChild({ PATH }, ...args)), HEAP_ENVIRONMENT);
    assert.deepEqual(found(environmentOfChild({ PATH, ...chosen }, ...args)), chosen);
  });
