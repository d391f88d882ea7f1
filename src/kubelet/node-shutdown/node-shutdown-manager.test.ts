/** Shutdown by priority under virtual time. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../api/gen/core-v1.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { createNodeShutdownManager, podsByGroup, shutdownGroups } from './node-shutdown-manager.ts';

const pod = (name: string, priority: number, grace = 30): Pod => ({
  metadata: { name, namespace: 'd', uid: name },
  spec: { containers: [], priority, terminationGracePeriodSeconds: grace },
});

describe('graceful shutdown', () => {
  it('sorts pods into groups by priority', () => {
    const groups = [
      { priority: 10_000, gracePeriodSeconds: 20 },
      { priority: 0, gracePeriodSeconds: 30 },
    ];
    const found = podsByGroup([pod('low', -5), pod('high', 20_000), pod('normal', 0)], groups);
    assert.deepEqual(
      found.map(({ group, pods }) => [group.gracePeriodSeconds, pods.map(({ metadata }) => metadata.name)]),
      [
        [30, ['low', 'normal']],
        [20, ['high']],
      ],
    );
    assert.deepEqual(shutdownGroups({ totalSeconds: 0, criticalSeconds: 0 }), []);
  });

  it('ends normal pods first, critical ones last, none after the time of its group, and then permits the shutdown', async () => {
    const platform = createSimPlatform();
    const { clock } = platform;
    const startMs = clock.monotonicMs();
    const told: (readonly [string, number, number])[] = [];
    const source = { listener: (_active: boolean): void => undefined, releasedMs: 0 };
    const pods = [pod('quick', 0, 5), pod('stubborn', 0, 600), pod('critical', 2_000_000_000)];
    const controller = new AbortController();
    const manager = createNodeShutdownManager(
      {
        platform,
        recorder: { event: () => undefined },
        nodeRef: { kind: 'Node', name: 'n' },
        source: {
          onShutdown(listener) {
            source.listener = listener;
            return () => undefined;
          },
          release: () => void (source.releasedMs = clock.monotonicMs() - startMs),
        },
        activePods: () => pods,
        async killPod({ pod: { metadata }, gracePeriodSeconds, changeStatus }) {
          told.push([metadata.name!, gracePeriodSeconds, clock.monotonicMs() - startMs]);
          assert.equal(
            changeStatus({ phase: 'Running' }).message,
            'Pod was terminated in response to imminent node shutdown.',
          );
          await clock.sleep(metadata.name === 'stubborn' ? 600_000 : 1_000);
        },
        onChange: () => undefined,
      },
      shutdownGroups({ totalSeconds: 30, criticalSeconds: 10 }),
    );
    manager.start(controller.signal);
    assert.deepEqual([manager.problem(), manager.admit().admit], [undefined, true]);
    source.listener(true);
    await clock.advance(60_000);
    assert.deepEqual(told, [
      ['quick', 5, 0],
      ['stubborn', 20, 0],
      ['critical', 10, 20_000],
    ]);
    assert.equal(source.releasedMs, 21_000);
    assert.deepEqual(manager.admit(), {
      admit: false,
      reason: 'NodeShutdown',
      message: 'Pod was rejected as the node is shutting down.',
    });
    source.listener(false);
    assert.equal(manager.problem(), undefined);
    controller.abort();
  });
});
