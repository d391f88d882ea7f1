/**
 * The channels of the sync loop: messages wait here until its next iteration. They are created before the loop, so
 * that senders do not need it. Upstream: configCh, plegCh, the probe managers' Updates() and syncCh of
 * syncLoopIteration.
 *
 * Messages of one channel keep their order; none is dropped.
 */
import type { PodLifecycleEvent } from '../pleg/pod-records.ts';
import type { ProbeUpdate } from '../prober/results.ts';
import type { PodUpdate } from '../types/pod-update.ts';

/** The messages of one iteration. */
export interface SyncLoopMessages {
  readonly configs: readonly PodUpdate[];
  readonly plegEvents: readonly PodLifecycleEvent[];
  readonly probes: readonly ProbeUpdate[];
  readonly syncDue: boolean;
}

/** The send functions are fields, so that they can be passed without the object. */
export class SyncLoopChannels {
  #configs: PodUpdate[] = [];
  #plegEvents: PodLifecycleEvent[] = [];
  #probes: ProbeUpdate[] = [];
  #syncDue = false;
  #wake: () => void = () => undefined;

  readonly configCh = (update: PodUpdate): void => {
    this.#configs.push(update);
    this.#wake();
  };

  readonly plegCh = (event: PodLifecycleEvent): void => {
    this.#plegEvents.push(event);
    this.#wake();
  };

  readonly probeCh = (update: ProbeUpdate): void => {
    this.#probes.push(update);
    this.#wake();
  };

  /** Pods in the work queue are due. */
  readonly syncCh = (): void => {
    this.#syncDue = true;
    this.#wake();
  };

  /** Sets the function that is called after each message. */
  onMessage(wake: () => void): void {
    this.#wake = wake;
  }

  /** Removes and returns all waiting messages. */
  receive(): SyncLoopMessages {
    const messages = {
      configs: this.#configs,
      plegEvents: this.#plegEvents,
      probes: this.#probes,
      syncDue: this.#syncDue,
    };
    this.#configs = [];
    this.#plegEvents = [];
    this.#probes = [];
    this.#syncDue = false;
    return messages;
  }
}
