/** Contract of event recording. Upstream: client-go tools/record (core/v1 Events with correlation and aggregation). */
import type { KubernetesObject } from '../api/object.ts';

/** The object of an event: a whole object or a reference. */
export interface EventTarget {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly fieldPath?: string;
}

/** Records events; never throws, never waits: they are sent in the background, correlated, aggregated and rate-limited. */
export interface EventRecorder {
  event(target: KubernetesObject | EventTarget, type: 'Normal' | 'Warning', reason: string, message: string): void;
}
