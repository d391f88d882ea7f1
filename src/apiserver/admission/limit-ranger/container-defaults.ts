/** The defaults of limit ranges for containers. */
import type { Container, LimitRangeItem, Pod } from '../../../api/gen/core-v1.ts';
import { PartBudget } from '../../../api/codec/parts.ts';
import { StepMeter, type Steps } from '../../../base/steps.ts';
import type { Quantities } from '../../../component-helpers/quota/resource-lists.ts';

const ANNOTATION = 'kubernetes.io/limit-ranger';
const NAMES_PER_STEP = 5000;

interface Defaults {
  readonly requests: Quantities;
  readonly limits: Quantities;
}

/** Sets what containers lack. Throws 413 when a pod would get more entries than an object may have. */
export function* fillPod(pod: Pod, items: readonly LimitRangeItem[]): Steps<void> {
  const defaults = yield* mergedDefaults(items);
  const budget = new PartBudget();
  const notes: string[] = [];
  const meter = new StepMeter(NAMES_PER_STEP);
  for (const [containers, what] of [
    [pod.spec?.containers, 'container'],
    [pod.spec?.initContainers, 'init container'],
  ] as const)
    for (const container of containers ?? []) {
      for (const kind of ['requests', 'limits'] as const) {
        const count = fillAmounts(container, kind, { defaults: defaults[kind], budget, what, notes });
        if (meter.endsStep(count + 1)) yield;
      }
    }
  if (notes.length === 0) return;
  pod.metadata.annotations = {
    ...pod.metadata.annotations,
    [ANNOTATION]: `LimitRanger plugin set: ${notes.join('; ')}`,
  };
}

function* mergedDefaults(items: readonly LimitRangeItem[]): Steps<Defaults> {
  const [requests, limits]: [Record<string, string>, Record<string, string>] = [{}, {}];
  const meter = new StepMeter(NAMES_PER_STEP);
  for (const item of items) {
    if (item.type !== 'Container') continue;
    for (const [merged, own] of [
      [requests, item.defaultRequest],
      [limits, item.default],
    ] as const) {
      Object.assign(merged, own);
      if (own !== undefined && meter.endsStep(Object.keys(own).length)) yield;
    }
  }
  return { requests, limits };
}

interface Filling {
  readonly defaults: Quantities;
  readonly budget: PartBudget;
  readonly what: string;
  readonly notes: string[];
}

/** Returns the number of names that were looked at. */
function fillAmounts(
  container: Container,
  kind: 'requests' | 'limits',
  { defaults, budget, what, notes }: Filling,
): number {
  const amounts = container.resources?.[kind] ?? {};
  const names = Object.keys(defaults);
  const missing = names.filter((name) => !Object.hasOwn(amounts, name)).sort();
  if (missing.length === 0) return names.length;
  budget.take(missing.length);
  const filled = Object.fromEntries(missing.map((name) => [name, defaults[name] ?? '0']));
  container.resources = { ...container.resources, [kind]: { ...amounts, ...filled } };
  notes.push(`${missing.join(', ')} ${kind === 'requests' ? 'request' : 'limit'} for ${what} ${container.name}`);
  return names.length;
}
