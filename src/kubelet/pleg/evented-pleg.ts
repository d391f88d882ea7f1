/**
 * Wakes the generic PLEG by the runtime's event stream: each event causes an inspection of its pod at once. Upstream:
 * pkg/kubelet/pleg/evented.go.
 *
 * Events only cause inspections; the state is always read, so a lost or repeated event does no harm. While the stream
 * is healthy, relists are rare (every minute); when it breaks, they run once a second until the stream is back,
 * starting with one that covers the gap. Upstream drops events when its channel of 1000 is full; here the stream is
 * read without delay and events of one pod are merged.
 */
import { createBackoff } from '../../base/backoff.ts';
import { sleepUnlessAborted } from '../../platform/clock.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import type { ContainerRuntime } from '../container/runtime.ts';
import type { PodLifecycleEventGenerator } from './generic-pleg.ts';
import { background } from '../../platform/unexpected.ts';

/** Relist periods, milliseconds. */
export interface EventedPlegConfig {
  /** With a healthy stream. Default 60 s. */
  readonly healthyRelistPeriodMs: number;
  /** Without a healthy stream. Default 1 s. */
  readonly brokenRelistPeriodMs: number;
}

/** Subscribes to the runtime's events and keeps subscribing until the signal aborts. */
export function startEventedPleg(
  deps: { platform: BasePlatform; runtime: ContainerRuntime; pleg: PodLifecycleEventGenerator },
  config: EventedPlegConfig,
  signal: AbortSignal,
): Promise<void> {
  const { pleg, runtime } = deps;
  const { clock } = deps.platform;
  const log = deps.platform.log.child('evented-pleg');
  const random = deps.platform.random.fork('evented-pleg');
  const backoff = createBackoff({ initialMs: 100, maxMs: 5_000, jitter: 0.2 }, () => random.next());

  async function consume(): Promise<void> {
    let subscribed = false;
    for await (const event of runtime.events(signal)) {
      if (!subscribed) {
        subscribed = true;
        backoff.reset();
        pleg.setRelistPeriod(config.healthyRelistPeriodMs);
      }
      if (event.podUid !== '') pleg.noteRuntimeEvent(event.podUid);
    }
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      let alive = true;
      const attempt = consume();
      // A subscription is not acknowledged: a stream that stays open for a while counts as healthy.
      const cancel = clock.setTimer(config.brokenRelistPeriodMs, () => {
        background(
          log,
          'pods could not be listed again',
          pleg.relist().then(() => {
            if (alive) pleg.setRelistPeriod(config.healthyRelistPeriodMs);
          }),
        );
      });
      let broken: unknown = new Error('the event stream ended');
      try {
        await attempt;
      } catch (error) {
        broken = error;
      }
      alive = false;
      cancel();
      if (signal.aborted) return;
      log.warn('Evented PLEG: the stream of container events broke, relisting meanwhile', { err: broken });
      pleg.setRelistPeriod(config.brokenRelistPeriodMs);
      await sleepUnlessAborted(clock, backoff.nextMs(), signal);
    }
  }
  return run();
}
