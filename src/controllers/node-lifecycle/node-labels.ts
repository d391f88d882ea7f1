/**
 * Keeps node labels of early releases equal to their successors, since selectors may still use them. Pure. Upstream:
 * controller/nodelifecycle reconcileNodeLabels.
 */
import type { Node } from '../../api/gen/core-v1.ts';

const FOLLOWS: Readonly<Record<string, string>> = {
  'kubernetes.io/os': 'beta.kubernetes.io/os',
  'kubernetes.io/arch': 'beta.kubernetes.io/arch',
};

/** The labels to set; undefined when nothing changes. */
export function earlyLabels({ metadata: { labels = {} } }: Node): Record<string, string> | undefined {
  const missing = Object.entries(FOLLOWS).flatMap(([today, early]) => {
    const value = labels[today];
    return value === undefined || labels[early] === value ? [] : [[early, value] as const];
  });
  return missing.length === 0 ? undefined : Object.fromEntries(missing);
}
