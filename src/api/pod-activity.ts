/**
 * The kubelet's activity for one pod: the events that reach its sync loop, and the steps of the pod's worker. Events are recorded
 * only while a client reads them. The kubelet serves the activity and the API server forwards it. No counterpart upstream.
 */

/** The first segment of the kubelet's path for a pod's activity; the namespace and name follow. */
export const POD_ACTIVITY_ROUTE = 'podActivity';

/**
 * The origin of an event: `source` the API server or a file, `pleg` the runtime, `probe` a probe whose result changed, `timer`
 * the work queue, `worker` the pod's own worker.
 */
export type ActivityPart = 'source' | 'pleg' | 'probe' | 'timer' | 'worker';

export interface ActivityEvent {
  /** Incremented by one for each event of the pod. */
  readonly number: number;
  /** RFC 3339 with microseconds. */
  readonly at: string;
  readonly part: ActivityPart;
  /** The event: `ADD`, `ContainerDied`, `readiness failure`, `sync`. */
  readonly what: string;
  /** The duration of a worker's step; absent while it runs, and for events that are no steps. */
  readonly durationMs?: number | undefined;
  readonly error?: string | undefined;
  /** The time at which the worker syncs the pod again without an event. */
  readonly nextSync?: string | undefined;
}

export interface PodActivity {
  readonly apiVersion: 'keelson/v1';
  readonly kind: 'PodActivity';
  readonly uid: string;
  /** The node's time at the response. */
  readonly now: string;
  /** The time at which recording began; earlier events are not recorded. */
  readonly since: string;
  /** The events, the newest last. */
  readonly events: readonly ActivityEvent[];
}
