import assert from 'node:assert/strict';
import { test } from 'node:test';
import { criTable } from '../../cri/gen/cri-table.ts';
import { containerState } from './pod-status.ts';

type CriState = Parameters<typeof containerState>[0];

test('every state of CRI has one of ours, and so has a number beyond its enum', () => {
  const known = criTable.enums.ContainerState.split(' ') as CriState[];
  assert.deepEqual(known.map(containerState), ['created', 'running', 'exited', 'unknown']);
  for (const other of ['4', '-1', '2147483647', '__proto__'])
    assert.equal(containerState(other as CriState), 'unknown', other);
});
