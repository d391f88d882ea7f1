/** Gauges of numbers of objects by their labels: label sets that no object has any more are removed. */
import type { Gauge } from '../platform/metrics.ts';

/** Labels of one series. */
export type Labels = Readonly<Record<string, string>>;

/** The series of several gauges. */
export interface GroupCounts {
  /** Counts the objects again. */
  update<T>(to: Gauge, objects: readonly T[], labelsOf: (object: T) => Labels): void;
  /** Removes all values. */
  forget(): void;
}

export function createGroupCounts(): GroupCounts {
  const reported = new Map<Gauge, readonly Labels[]>();
  const update: GroupCounts['update'] = (to, objects, labelsOf) => {
    for (const old of reported.get(to) ?? []) to.remove(old);
    const groups = [...Map.groupBy(objects, (object) => JSON.stringify(labelsOf(object)))];
    const now = groups.map(([text, group]) => ({ labels: JSON.parse(text) as Labels, count: group.length }));
    for (const { labels, count } of now) to.set(count, labels);
    reported.set(
      to,
      now.map(({ labels }) => labels),
    );
  };
  return { update, forget: () => reported.keys().forEach((gauge) => update(gauge, [], () => ({}))) };
}
