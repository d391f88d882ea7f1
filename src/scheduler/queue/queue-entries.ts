/** Entries of the scheduling queue, and the events that may move them. Upstream: QueuedPodInfo, clusterEvent. */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { SchedulerPlugin } from '../framework/plugin.ts';
import type { ClusterEvent } from './cluster-event.ts';
import type { QueueDeps } from './contract.ts';

export interface Entry {
  pod: Stored<Pod>;
  attempts: number;
  readonly queuedAtMs: number;
  rejectedBy: ReadonlySet<string>;
  /** The number of rejections, and of errors since the last of them. */
  rejections: number;
  errors: number;
  /** When the last attempt ended without a node. */
  setAsideAtMs: number;
  /** Back-off ends then; an otherwise idle scheduler may try the pod earlier. */
  backoffEndsMs: number;
}

export interface GatedEntry {
  readonly entry: Entry;
  /** The PreEnqueue plugins that keep it out: only their events can admit it. */
  readonly rejectedBy: ReadonlySet<string>;
  /** The last retry that happened only because of its long wait; before the first, when it was added. */
  triedAtMs: number;
}

export interface HappenedEvent {
  readonly event: ClusterEvent;
  readonly oldObject: unknown;
  readonly newObject: unknown;
}

/** Answers whether a plugin, by name, registered for an event. */
export function eventTest(plugins: readonly SchedulerPlugin[]): QueueDeps['wants'] {
  const wanted = new Set(plugins.flatMap(({ name, events = [] }) => events.map(({ event }) => `${name} ${event}`)));
  return (plugin, event) => wanted.has(`${plugin} ${event}`);
}
