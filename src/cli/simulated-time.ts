/** The time of `keelson up --simulate`: real, or with `--speed` a virtual clock that runs by itself, can be paused and stepped. */
import type { Clock } from '../platform/clock.ts';
import type { Platform } from '../platform/platform.ts';
import type { Cluster } from '../testing/cluster.ts';
import type { ClusterOptions } from '../testing/cluster-options.ts';
import { RunningClock } from '../testing/simulation/running-clock.ts';

export class SimulatedTime {
  /** Undefined: time is real. */
  readonly running: RunningClock | undefined;
  readonly #real: Clock;
  #cluster: Cluster | undefined;
  #ended: Promise<void> | undefined;

  constructor({ clock: real, log }: Pick<Platform, 'clock' | 'log'>, speed: number | undefined) {
    this.#real = real;
    const moved = { advance: async (ms: number) => await this.#cluster?.advance(ms) };
    this.running = speed === undefined ? undefined : new RunningClock({ moved, real, log }, speed);
  }

  /** How the cluster is to be started: virtual time begins at the present. */
  get options(): Pick<ClusterOptions, 'clock' | 'startAt' | 'sleepHint'> {
    if (this.running === undefined) return { clock: 'real' };
    return { clock: 'virtual', startAt: this.#real.nowMs(), sleepHint: false };
  }

  /** The cluster's clock, also for what begins before the cluster; undefined: time is real. */
  get clock(): Pick<Clock, 'nowMs' | 'monotonicMs'> | undefined {
    if (this.running === undefined) return undefined;
    return {
      nowMs: () => (this.#cluster?.clock ?? this.#real).nowMs(),
      monotonicMs: () => this.#cluster?.clock.monotonicMs() ?? 0,
    };
  }

  /** Starts the advance of the cluster's virtual time, unless time is real. */
  start(cluster: Cluster): void {
    this.#cluster = cluster;
    this.#ended = this.running?.start();
  }

  async stop(): Promise<void> {
    this.running?.stop();
    await this.#ended;
  }
}
