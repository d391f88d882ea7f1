/** The feed of changes when a listener, a message or the watch itself fails: nothing is lost, faults are counted. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { createEtcdCodec } from './codec.ts';
import type { EtcdClient } from './etcd-client.ts';
import type { WatchResponse } from './etcd-table.ts';
import { runEventFeed } from './event-feed.ts';

const change = (revision: number): WatchResponse =>
  ({
    created: false,
    canceled: false,
    compactRevision: 0,
    fragment: false,
    events: [
      {
        type: 'PUT',
        kv: {
          key: Buffer.from(`/registry/${revision}`),
          value: Buffer.from('{}'),
          modRevision: revision,
          createRevision: 1,
        },
      },
    ],
  }) as unknown as WatchResponse;

interface Failure {
  readonly what: string;
  /** Replaces the n-th message of a watch. */
  readonly message?: unknown;
  readonly onEvents?: () => void;
  readonly count: number;
}

const broken = (): never => {
  throw new TypeError('broken');
};

const failures: readonly Failure[] = [
  { what: 'a listener that throws', onEvents: broken, count: 1 },
  { what: 'a message without events', message: { ...change(2), events: undefined }, count: 1 },
  { what: 'an event without a key', message: { ...change(2), events: [{ type: 'PUT' }] }, count: 1 },
  { what: 'a watch that etcd ends', message: { ...change(2), canceled: true, cancelReason: 'no leader' }, count: 0 },
];

for (const { what, message, onEvents, count } of failures)
  test(`${what}: the same changes are delivered again, each once, and only internal faults are counted`, async () => {
    const platform = createSimPlatform({ seed: 1 });
    const ending = new AbortController();
    let watches = 0;
    const stream = async function* (_path: string, requests: AsyncIterable<object>): AsyncIterable<unknown> {
      const isFirst = watches++ === 0;
      for await (const request of requests) {
        const { startRevision } = (request as { createRequest: { startRevision: number } }).createRequest;
        for (let revision = startRevision; revision <= 3; revision++)
          yield isFirst && revision === 2 && message !== undefined ? message : change(revision);
        break;
      }
      await platform.clock.sleep(60_000, ending.signal);
    };
    const taken: number[] = [];
    let fail = onEvents;
    const listener = {
      onEvents: (_: unknown, revision: number) => {
        const now = revision === 2 ? fail : undefined;
        if (now !== undefined) fail = undefined;
        now?.();
        taken.push(revision);
      },
      onGap: () => Promise.reject(new Error('no gap')),
    };
    const deps = { ...platform, client: { stream } as unknown as EtcdClient, codec: createEtcdCodec() };
    const running = runEventFeed(deps, listener, { after: 0, signal: ending.signal, onCreated: () => undefined });
    await platform.clock.advance(10_000);
    ending.abort();
    await running;
    assert.deepEqual(taken, [1, 2, 3]);
    assert.equal(platform.metrics.value('keelson_unexpected_errors_total', { component: '' }) ?? 0, count);
    const lines = platform.log.entries.filter(({ message: text }) => text.startsWith('the watch on etcd broke off'));
    assert.deepEqual(
      lines.map(({ level, fields }) => [level, fields['err'] instanceof Error]),
      [[count === 1 ? 'error' : 'warn', true]],
    );
  });
