import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSupervision } from './supervision.ts';

const supervised = { KEELSON_SUPERVISOR: '7', KEELSON_RESTARTS: '2' };

for (const [name, env, expected] of [
  ['nobody supervises', {}, undefined],
  ['what a supervised process handed on', { ...supervised, KEELSON_SUPERVISOR: '8' }, undefined],
  ['the first run', { KEELSON_SUPERVISOR: '7' }, { restarts: 0 }],
  [
    'a run after kill -9',
    { ...supervised, KEELSON_LAST_END: '12 137 30' },
    { restarts: 2, lastEnd: { pid: 12, exitCode: 137, lastedSeconds: 30 } },
  ],
  [
    'a run after an adopted one',
    { ...supervised, KEELSON_LAST_END: '12 unknown 30' },
    { restarts: 2, lastEnd: { pid: 12, exitCode: undefined, lastedSeconds: 30 } },
  ],
] as const)
  test(`the environment is read as: ${name}`, () => assert.deepEqual(readSupervision(env, 7), expected));
