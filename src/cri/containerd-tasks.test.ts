import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { GrpcCaller } from '../grpc/grpc-caller.ts';
import { GrpcError } from '../grpc/grpc-error.ts';
import { endTask, removeWithTasks } from './containerd-tasks.ts';

const running = (id: string): GrpcError =>
  new GrpcError(
    'FailedPrecondition',
    `failed to delete containerd container "${id}": cannot delete running task ${id}: failed precondition`,
  );

describe('removal where a task runs that CRI does not know of', () => {
  const cases: { about: string; refusals: GrpcError[]; ended: string[]; rejected?: GrpcError }[] = [
    { about: 'nothing stands in the way', refusals: [], ended: [] },
    { about: 'one task', refusals: [running('a')], ended: ['a'] },
    { about: "a sandbox's two", refusals: [running('a'), running('b')], ended: ['a', 'b'] },
    { about: 'one that will not go', refusals: [running('a'), running('a')], ended: ['a'], rejected: running('a') },
    {
      about: 'another failure',
      refusals: [new GrpcError('Unknown', 'container is in starting state')],
      ended: [],
      rejected: new GrpcError('Unknown', 'container is in starting state'),
    },
  ];
  for (const { about, refusals, ended, rejected } of cases) {
    it(about, async () => {
      const left = refusals.values();
      const seen: string[] = [];
      const removal = removeWithTasks(
        async () => {
          const { value } = left.next();
          if (value !== undefined) throw value;
          return 'removed';
        },
        async (id) => void seen.push(id),
      );
      if (rejected === undefined) assert.equal(await removal, 'removed');
      else await assert.rejects(removal, { message: rejected.message });
      assert.deepEqual(seen, ended);
    });
  }

  it('kills, waits and deletes, and ignores missing tasks', async () => {
    const calls: [string, object][] = [];
    const caller: GrpcCaller = {
      unary: async ({ method }, request) => {
        calls.push([method, request]);
        if (method !== 'Wait') throw new GrpcError('NotFound', 'process already finished: not found');
        return {};
      },
      stream: () => assert.fail('no stream'),
      disconnect: () => undefined,
    };
    await endTask(caller, 'c');
    assert.deepEqual(calls, [
      ['Kill', { containerId: 'c', signal: 9, all: true }],
      ['Wait', { containerId: 'c' }],
      ['Delete', { containerId: 'c' }],
    ]);
    const refusing: GrpcCaller = { ...caller, unary: () => Promise.reject(new GrpcError('Unavailable', 'no')) };
    await assert.rejects(endTask(refusing, 'c'), { code: 'Unavailable' });
  });
});
