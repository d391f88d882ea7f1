/**
 * Deletes daemon pods that ended, so that new ones replace them: failed ones after a back-off per node, so that a
 * crashing daemon does not loop. Upstream: the part of podsShouldBeOnNode about failed and succeeded pods.
 */
import type { DaemonSet } from '../../api/gen/apps-v1.ts';
import type { Stored } from '../../api/object.ts';
import { KeyedBackoff } from '../../base/backoff.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';
import { keyOfObject } from '../../client/object-store.ts';
import type { Clock } from '../../platform/clock.ts';
import type { DaemonPlan } from './plan.ts';
import type { RollingStep } from './rolling-update.ts';

const FAILED_BACKOFF = { initialMs: 1000, maxMs: 15 * 60_000 };

export interface EndedPodsDeps {
  readonly clock: Clock;
  readonly recorder: EventRecorder;
  /** Syncs the DaemonSet of this key again after a delay. */
  readonly retryAfter: (key: string, delayMs: number) => void;
}

export class EndedPods {
  readonly #deps: EndedPodsDeps;
  readonly #backoff = new KeyedBackoff(FAILED_BACKOFF);

  constructor(deps: EndedPodsDeps) {
    this.#deps = deps;
  }

  /** The pods to create and delete, apart from a rolling update, with ended pods whose back-off is over. */
  steps(set: Stored<DaemonSet>, { create, remove, failed, succeeded }: DaemonPlan): RollingStep {
    const { recorder } = this.#deps;
    const removed = [...remove];
    for (const { pod, nodeName } of failed) {
      if (this.#isInBackoff(set, nodeName)) continue;
      const message = `Found failed daemon pod ${keyOfObject(pod)} on node ${nodeName}, will try to kill it`;
      recorder.event(set, 'Warning', 'FailedDaemonPod', message);
      removed.push(pod);
    }
    for (const { pod, nodeName } of succeeded) {
      const message = `Found succeeded daemon pod ${keyOfObject(pod)} on node ${nodeName}, will try to delete it`;
      recorder.event(set, 'Normal', 'SucceededDaemonPod', message);
      removed.push(pod);
    }
    return { create, remove: removed };
  }

  /** Whether the set's last failed pod of the node was deleted too recently. If not, a new back-off starts. */
  #isInBackoff(set: Stored<DaemonSet>, nodeName: string): boolean {
    const nowMs = this.#deps.clock.monotonicMs();
    const backoffKey = `${set.metadata.uid}/${nodeName}`;
    const isInBackoff = this.#backoff.isInBackoffSinceUpdate(backoffKey, nowMs);
    if (isInBackoff) this.#deps.retryAfter(keyOfObject(set), this.#backoff.getMs(backoffKey));
    else this.#backoff.next(backoffKey, nowMs);
    return isInBackoff;
  }

  /** Forgets back-offs that ended long ago. */
  collect(): void {
    this.#backoff.collect(this.#deps.clock.monotonicMs());
  }
}
