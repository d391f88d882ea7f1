/** The scheduling queue as the scheduler and its plugins see it. Upstream: SchedulingQueue. */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { Clock } from '../../platform/clock.ts';
import type { QueuedPod, SchedulerPlugin } from '../framework/plugin.ts';
import type { Status } from '../framework/status.ts';
import type { ClusterEvent } from './cluster-event.ts';

/** Upstream's defaults: back-off from 1 s, doubling to 10 s; a pod is retried after five minutes at the latest. */
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
  /** The plugins of the pod's profile, whose queueing hints apply. */
  readonly pluginsOf: (pod: Stored<Pod>) => readonly SchedulerPlugin[];
  /** Whether the plugin registered for the event. */
  readonly wants: (plugin: string, event: ClusterEvent) => boolean;
  /** Called when a queueing hint throws: the plugin's pods are retried, as upstream treats an error as Queue. */
  readonly hintFailed?: (plugin: string, error: unknown) => void;
  /** Called when a pod enters a part of the queue, with the event that caused it. */
  readonly incoming?: (event: string, queue: QueuePart) => void;
}

/** Where a queued pod waits. */
export type QueuePart = 'active' | 'backoff' | 'unschedulable' | 'gated';

/** Where a pod is in the queue. */
export interface QueuePlace {
  readonly part: QueuePart | 'in-flight';
  readonly attempts: number;
  readonly waitingMs: number;
  readonly nextTryMs?: number;
  readonly rejectedBy: ReadonlySet<string>;
  /** Why PreEnqueue keeps it out. */
  readonly gate?: string;
}

export interface SchedulingQueue {
  add(pod: Stored<Pod>): void;
  /** An unbound pod has changed: it is retried if the change may help. */
  update(old: Stored<Pod> | undefined, pod: Stored<Pod>): void;
  remove(uid: string): void;
  /**
   * The next pod to schedule; undefined when none is ready (see `onReady`). It is in flight until `done` or
   * `addUnschedulableIfNotPresent`.
   */
  pop(): QueuedPod | undefined;
  /** The pod is bound or deleted. */
  done(uid: string): void;
  /** The pod could not be scheduled. `rejectedBy` names the plugins that rejected it; empty after an error. */
  addUnschedulableIfNotPresent(pod: QueuedPod, rejectedBy: ReadonlySet<string>): void;
  /** Moves a pod to the active queue, without back-off. */
  activate(uid: string): void;
  /**
   * Handles an event of the cluster. An event about the pod itself leaving its node is ignored for that pod, as its
   * binding failed.
   */
  notify(event: ClusterEvent, oldObject?: unknown, newObject?: unknown): void;
  /** Called whenever `pop` may have something again. */
  onReady(listener: () => void): void;
  counts(): Readonly<Record<QueuePart, number>>;
  /** Rejected pods that wait, and those kept out by PreEnqueue, with the plugins responsible. */
  rejected(): Iterable<{ readonly pod: Stored<Pod>; readonly rejectedBy: ReadonlySet<string> }>;
  /** Undefined: the queue does not have the pod. */
  place(uid: string): QueuePlace | undefined;
  stop(): void;
}
