/** Contract of recording events of the newer form. Upstream: client-go tools/events EventRecorder (events.k8s.io/v1). */
import type { KubernetesObject } from '../api/object.ts';
import type { EventTarget } from './event-recorder.ts';

/** One event, before it has a name and a time. */
export interface RecordedEvent {
  readonly regarding: KubernetesObject | EventTarget;
  /** A second object that takes part, as the preemptor of a victim. */
  readonly related?: KubernetesObject | EventTarget;
  readonly type: 'Normal' | 'Warning';
  /** Why the action was taken. */
  readonly reason: string;
  /** The action that was taken or that failed: `Binding`, `Scheduling`, `Preempting`. */
  readonly action: string;
  /** Human-readable; cut at 1,024 characters. */
  readonly note: string;
}

/** Records events; never throws and never waits. */
export interface SeriesEventRecorder {
  eventf(event: RecordedEvent): void;
}
