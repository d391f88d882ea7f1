/** Labels of early releases, kept as today's say: selectors may still ask for them. Pure. Upstream: controller/nodelifecycle reconcileNodeLabels. */
import type { Node } from '../../api/gen/core-v1.ts';

const FOLLOWS: Readonly<Record<string, string>> = {
  'kubernetes.io/os': 'beta.kubernetes.io/os',
  'kubernetes.io/arch': 'beta.kubernetes.io/arch',
};

/** What is to be set; undefined when nothing is. */
export function earlyLabels({ metadata: { labels = {} } }: Node): Record<string, string> | undefined {
  const missing = Object.entries(FOLLOWS).flatMap(([today, early]) => {
    const value = labels[today];
    return value === undefined || labels[early] === value ? [] : [[early, value] as const];
  });
  return missing.length === 0 ? undefined : Object.fromEntries(missing);
}
