/** Events of a cluster as lines that are equal in every run, for snapshots of vitest and jest. */
import { allResources } from '../../api/gen/resources.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { eventTimeMs } from '../describe.ts';
import type { Cluster } from '../cluster.ts';
import type { EventFilter } from '../find-events.ts';

/**
 * The events in order, with times since the first. Random ends of generated names are replaced by numbers in order of appearance,
 * and uids are omitted: `+2s Normal Started Pod/web-7d9c5b8f6d-1: Container started`.
 */
export function eventStory(cluster: Cluster, filter: EventFilter = {}): string[] {
  const events = cluster.events(filter);
  const startMs = eventTimeMs(events[0]);
  const plain = plainNames(cluster);
  return events.map((event) => {
    const { type, reason, involvedObject, message = '', count = 1 } = event;
    const afterSeconds = Math.round((eventTimeMs(event) - startMs) / 1000);
    return plain(
      `+${afterSeconds}s ${type} ${reason} ${involvedObject.kind}/${involvedObject.name}${count > 1 ? ` (x${count})` : ''}: ${message}`,
    );
  });
}

const UID = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g;
/** The random end of a generated name. */
const GENERATED = /\b([a-z][a-z\d.-]*-)([bcdfghjklmnpqrstvwxz2456789]{5})\b/g;

/** Numbers the generated names of existing and deleted objects. */
function plainNames(cluster: Cluster): (text: string) => string {
  const stems = new Set<string>();
  for (const info of allResources)
    if (info.verbs.includes('list'))
      for (const { metadata } of cluster.peek(info as ResourceInfo<KubernetesObject>))
        if (metadata.generateName !== undefined) stems.add(metadata.generateName);
  const numbers = new Map<string, string>();
  const counts = new Map<string, number>();
  return (text) =>
    text.replaceAll(UID, 'UID').replaceAll(GENERATED, (name, stem: string) => {
      if (!stems.has(stem)) return name;
      let plain = numbers.get(name);
      if (plain === undefined) {
        const number = (counts.get(stem) ?? 0) + 1;
        counts.set(stem, number);
        plain = `${stem}${number}`;
        numbers.set(name, plain);
      }
      return plain;
    });
}
