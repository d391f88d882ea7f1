import assert from 'node:assert/strict';
import { test } from 'node:test';
import { neverStarted } from './start-container.ts';

/** Statuses as containerd 1.6 reports them. */
const cases: readonly (readonly [about: string, status: Parameters<typeof neverStarted>[0], never: boolean])[] = [
  ['made', { state: 'created', reason: '', message: '' }, true],
  [
    'cut off while the task was created',
    {
      state: 'exited',
      reason: 'StartError',
      message: 'failed to create containerd task: failed to create shim task: context canceled: unknown',
    },
    true,
  ],
  [
    'cut off while the shim was started',
    {
      state: 'exited',
      reason: 'StartError',
      message:
        'failed to create containerd task: failed to start shim: start failed: unix:///run/containerd/s/2d: context canceled',
    },
    true,
  ],
  [
    'a program that is not there',
    {
      state: 'exited',
      reason: 'StartError',
      message: 'failed to create containerd task: exec: "nope": executable file not found in $PATH: unknown',
    },
    false,
  ],
  ['ended', { state: 'exited', reason: 'Error', message: 'context canceled' }, false],
  ['running', { state: 'running', reason: '', message: '' }, false],
];
for (const [about, status, never] of cases)
  test(`a container ${never ? 'never started' : 'did start or failed to'}: ${about}`, () =>
    assert.equal(neverStarted(status), never));
