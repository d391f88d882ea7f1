/**
 * What a kubelet does for one pod, event by event: messages that reach its sync loop, and what the pod's worker does about
 * them. It is recorded while somebody looks. The kubelet serves it, the API server hands it out. No counterpart upstream.
 */

/** The first segment of the path at which a kubelet serves the activity of a pod; the namespace and name follow. */
export const POD_ACTIVITY_ROUTE = 'podActivity';

/**
 * Where an event comes from: `source` the API server or a file, `pleg` the runtime, `probe` a probe whose result changed, `timer`
 * the work queue, `worker` the pod's own worker.
 */
export type ActivityPart = 'source' | 'pleg' | 'probe' | 'timer' | 'worker';

export interface ActivityEvent {
  /** Rises by one with each event of the pod. */
  readonly number: number;
  /** RFC 3339 with microseconds. */
  readonly at: string;
  readonly part: ActivityPart;
  /** `ADD`, `ContainerDied`, `readiness failure`, `sync`. */
  readonly what: string;
  /** How long a worker's step took; absent: it goes on, or it is no step. */
  readonly durationMs?: number | undefined;
  readonly error?: string | undefined;
  /** When the worker looks at the pod again by itself. */
  readonly nextSync?: string | undefined;
}

export interface PodActivity {
  readonly apiVersion: 'keelson/v1';
  readonly kind: 'PodActivity';
  readonly uid: string;
  /** The time on the node when it answered. */
  readonly now: string;
  /** Since when events are recorded: earlier ones are not known. */
  readonly since: string;
  /** The newest last. */
  readonly events: readonly ActivityEvent[];
}
