import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { HEAP_ENVIRONMENT } from './heap-environment.ts';

const supervise = fileURLToPath(new URL('../../bin/supervise', import.meta.url));

function environmentOfChild(env: NodeJS.ProcessEnv): Record<string, string> {
  const printed = execFileSync('/bin/sh', [supervise, 'env'], { env, encoding: 'utf8' });
  return Object.fromEntries(printed.split('\n').map((line) => line.split('=') as [string, string]));
}

test('a supervised process gets our C heap settings unless the user set others', () => {
  const { PATH } = process.env;
  const names = Object.keys(HEAP_ENVIRONMENT);
  const chosen = Object.fromEntries(names.map((name) => [name, '7']));
  const found = (env: Record<string, string>): object => Object.fromEntries(names.map((name) => [name, env[name]]));
  assert.deepEqual(found(environmentOfChild({ PATH })), HEAP_ENVIRONMENT);
  assert.deepEqual(found(environmentOfChild({ PATH, ...chosen })), chosen);
});
