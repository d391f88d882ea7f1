import assert from 'node:assert/strict';
import { test } from 'node:test';

import { CriError } from '../cri-error.ts';
import type { CriRuntimeService } from '../gen/cri-types.ts';
import { removeAllPods } from './remove-pods.ts';

type Calls = Pick<CriRuntimeService, 'listPodSandbox' | 'stopPodSandbox' | 'removePodSandbox'>;

/** A runtime with sandboxes `a` and `b` whose calls for `a` may fail. */
function runtimeWith(failing: Partial<Record<'stop' | 'remove', Error>>): { runtime: Calls; removed: string[] } {
  const removed: string[] = [];
  const fail = (id: string, error: Error | undefined): void => {
    if (id === 'a' && error !== undefined) throw error;
  };
  const runtime = {
    listPodSandbox: () => Promise.resolve({ items: [{ id: 'a' }, { id: 'b' }] }),
    stopPodSandbox: async ({ podSandboxId = '' }) => {
      fail(podSandboxId, failing.stop);
      return {};
    },
    removePodSandbox: async ({ podSandboxId = '' }) => {
      fail(podSandboxId, failing.remove);
      removed.push(podSandboxId);
      return {};
    },
  } as unknown as Calls;
  return { runtime, removed };
}

for (const step of ['stop', 'remove'] as const) {
  test(`a sandbox that is gone before ${step} counts as removed and is not logged`, async () => {
    const { runtime, removed } = runtimeWith({ [step]: new CriError('NotFound', 'not found') });
    const warnings: string[] = [];
    await removeAllPods(runtime, { warn: (message) => void warnings.push(message) });
    assert.deepEqual(warnings, []);
    assert.deepEqual(removed, ['b']);
  });

  test(`a sandbox whose ${step} fails is logged and the others are removed`, async () => {
    const { runtime, removed } = runtimeWith({ [step]: new CriError('Internal', 'broken') });
    const warnings: string[] = [];
    await removeAllPods(runtime, { warn: (message) => void warnings.push(message) });
    assert.deepEqual(warnings, ['pod sandbox cannot be removed']);
    assert.deepEqual(removed, ['b']);
  });
}
