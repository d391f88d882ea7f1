import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PodStatus } from '../container/runtime.ts';
import { createMemoryLog } from '../../platform/sim/log.ts';
import { createContainerDeletor } from './container-deletor.ts';

test('a container is deleted once however many others end, a few at a time', async () => {
  const containers = Array.from({ length: 500 }, (_, at) => ({
    id: `c${at}`,
    name: `n${at}`,
    state: 'exited',
    createdAtMs: at,
  }));
  const calls: string[] = [];
  const waiting: (() => void)[] = [];
  const cleanUp = createContainerDeletor(
    {
      log: createMemoryLog(),
      runtime: {
        deleteContainer(id) {
          calls.push(id);
          return new Promise((resolve) => waiting.push(resolve));
        },
      },
      podCache: { peek: () => ({ containers }) as unknown as PodStatus },
      podWorkers: { shouldPodContentBeRemoved: () => true },
    },
    1,
  );
  for (const { id } of containers) cleanUp('pod', id);
  assert.equal(calls.length, 5);
  while (waiting.length > 0) {
    assert.ok(waiting.length <= 5);
    waiting.shift()!();
    await nextTurn();
  }
  assert.deepEqual(new Set(calls).size, 500);
  assert.equal(calls.length, 500);
});
