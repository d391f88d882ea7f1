/** How calls are shared among members that are not there, by a clock that is watched. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { onAbort } from '../../base/abort.ts';
import type { Clock } from '../../platform/clock.ts';
import { createNodeClock } from '../../platform/node/clock.ts';
import { StoreError } from '../store.ts';
import { EtcdClient } from './etcd-client.ts';

/** Addresses without a listener. */
const nowhere = (members: number): string[] => Array.from({ length: members }, () => 'http://127.0.0.1:1');

describe('a call to members that are not there', () => {
  for (const { name, members, timeoutMs, writes, given } of [
    { name: 'a read: each its share', members: 3, timeoutMs: 30_000, writes: false, given: [10_000, 15_000, 30_000] },
    { name: 'a read: no share is short', members: 3, timeoutMs: 12_000, writes: false, given: [5_000, 6_000, 12_000] },
    { name: 'a short read: all of it', members: 2, timeoutMs: 1_000, writes: false, given: [1_000, 1_000] },
    { name: 'a write: all of it', members: 2, timeoutMs: 30_000, writes: true, given: [30_000, 30_000] },
  ])
    test(`${name}; it ends with the client, whatever pause it is in`, async () => {
      const timers: number[] = [];
      const pausing = Promise.withResolvers<void>();
      // Time does not advance: no pause ends by itself.
      const clock: Clock = {
        ...createNodeClock(),
        monotonicMs: () => 0,
        setTimer(delayMs) {
          timers.push(delayMs);
          return () => undefined;
        },
        sleep: (_, signal) =>
          new Promise((_resolve, reject) => {
            onAbort(signal, () => reject(signal!.reason));
            pausing.resolve();
          }),
      };
      const client = new EtcdClient({ clock }, { endpoints: nowhere(members), timeoutMs });
      const ended = client.call('Cluster/MemberList', {}, { doing: 'asking', writes });
      ended.catch(() => undefined); // Asserted below.
      await pausing.promise;
      assert.deepEqual(timers, given);
      client.close();
      const closed = (error: unknown): boolean => error instanceof StoreError && error.code === 'closed';
      await assert.rejects(ended, closed);
      await assert.rejects(client.call('Cluster/MemberList', {}, { doing: 'asking' }), closed);
      assert.deepEqual(timers, given, 'no connection is tried any more');
    });
});
