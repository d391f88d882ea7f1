import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onAbort } from '../../base/abort.ts';
import type { CriEvent } from '../../cri/runtime-service.ts';
import type { PodStatusReader } from './pod-status.ts';
import { runtimeEvents } from './runtime-events.ts';

test('a listing that fails ends the subscription, at the runtime too', async () => {
  const left = Promise.withResolvers<void>();
  const cri = {
    async *events(signal: AbortSignal): AsyncGenerator<CriEvent> {
      onAbort(signal, () => left.resolve());
      yield { containerId: 'c', type: 'started' };
      await left.promise;
    },
  };
  const reader = {
    podUidOf: () => undefined,
    creations: () => undefined,
    getPods: () => Promise.reject(new Error('no listing')),
  } as unknown as PodStatusReader;
  const events = runtimeEvents({ cri, reader }, new AbortController().signal);
  await assert.rejects(async () => {
    for await (const _ of events);
  }, /no listing/);
  await left.promise;
});
