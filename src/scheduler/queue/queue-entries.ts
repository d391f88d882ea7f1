/** Pods as the scheduling queue keeps them, and the events that may wake them. Upstream: QueuedPodInfo, clusterEvent. */
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
  /** How often it was rejected, and how many errors there were since. */
  rejections: number;
  errors: number;
  /** When it was set aside. */
  setAsideAtMs: number;
  /** Not before, if others are there. */
  backoffEndsMs: number;
}

export interface GatedEntry {
  readonly entry: Entry;
  /** The plugins that keep it out: only their events can let it in. */
  readonly rejectedBy: ReadonlySet<string>;
  /** When it was last retried only because it had waited for so long, or else held out. */
  triedAtMs: number;
}

export interface HappenedEvent {
  readonly event: ClusterEvent;
  readonly oldObject: unknown;
  readonly newObject: unknown;
}

/** Tells by name which of the plugins want which events. */
export function eventTest(plugins: readonly SchedulerPlugin[]): QueueDeps['wants'] {
  const wanted = new Set(plugins.flatMap(({ name, events = [] }) => events.map(({ event }) => `${name} ${event}`)));
  return (plugin, event) => wanted.has(`${plugin} ${event}`);
}
