/** What the scheduler and its plugins see of the scheduling queue. Upstream: SchedulingQueue. */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { Clock } from '../../platform/clock.ts';
import type { QueuedPod, SchedulerPlugin } from '../framework/plugin.ts';
import type { Status } from '../framework/status.ts';
import type { ClusterEvent } from './cluster-event.ts';

/** Upstream's defaults: 1 s doubling to 10 s; five minutes at most without a try. */
export interface QueueConfig {
  readonly initialBackoffMs: number;
  readonly maxBackoffMs: number;
  readonly maxUnschedulableMs: number;
}

export interface QueueDeps {
  readonly clock: Clock;
  readonly less: (a: QueuedPod, b: QueuedPod) => number;
  /** Runs the PreEnqueue plugins: a status keeps the pod out of the active queue. */
  readonly preEnqueue: (pod: Stored<Pod>) => Status | undefined;
  /** The plugins of the pod's profile, whose hints count for it. */
  readonly pluginsOf: (pod: Stored<Pod>) => readonly SchedulerPlugin[];
  /** Whether plugins of the name registered for such events. */
  readonly wants: (plugin: string, event: ClusterEvent) => boolean;
  /** Called when a plugin's hint threw: the queue then retries its pods, as upstream treats an error as Queue. */
  readonly hintFailed?: (plugin: string, error: unknown) => void;
  /** Called whenever a pod enters a part of the queue, with the event that caused it. */
  readonly incoming?: (event: string, queue: QueuePart) => void;
}

/** The parts in which pods wait. */
export type QueuePart = 'active' | 'backoff' | 'unschedulable' | 'gated';

/** Where a pod is in the queue. */
export interface QueuePlace {
  readonly part: QueuePart | 'in-flight';
  readonly attempts: number;
  readonly waitingMs: number;
  readonly nextTryMs?: number;
  readonly rejectedBy: ReadonlySet<string>;
  /** Why it is held out. */
  readonly gate?: string;
}

export interface SchedulingQueue {
  add(pod: Stored<Pod>): void;
  /** A pod that is not bound has changed: it is tried again if the change may help. */
  update(old: Stored<Pod> | undefined, pod: Stored<Pod>): void;
  remove(uid: string): void;
  /**
   * The next pod to schedule; undefined when none is ready (wait for `onReady`). It is in flight until `done` or
   * `addUnschedulableIfNotPresent`.
   */
  pop(): QueuedPod | undefined;
  /** The pod is bound or gone. */
  done(uid: string): void;
  /** The pod could not be scheduled. `rejectedBy` names the plugins that rejected it; empty after an error. */
  addUnschedulableIfNotPresent(pod: QueuedPod, rejectedBy: ReadonlySet<string>): void;
  /** Moves a waiting pod to the active queue, without back-off. */
  activate(uid: string): void;
  /** Something happened in the cluster. That a pod leaves its node is no news to the pod itself: its binding has failed. */
  notify(event: ClusterEvent, oldObject?: unknown, newObject?: unknown): void;
  /** Called whenever `pop` may have something again. */
  onReady(listener: () => void): void;
  counts(): Readonly<Record<QueuePart, number>>;
  /** Pods that were rejected, until they are tried again, and those held out, with who holds them. */
  rejected(): Iterable<{ readonly pod: Stored<Pod>; readonly rejectedBy: ReadonlySet<string> }>;
  /** Undefined: not here. */
  place(uid: string): QueuePlace | undefined;
  stop(): void;
}
