/**
 * Label selectors: LabelSelector objects and their matching. label-selector-parser.ts parses the text form. Upstream:
 * apimachinery/pkg/labels, metav1.LabelSelectorAsSelector.
 */
import type { LabelSelector, LabelSelectorRequirement } from './gen/meta-v1.ts';
import { compareTexts } from '../base/compare-texts.ts';
import { type LabelOperator, type LabelRequirement, type Labels, requirementsTest } from './label-requirement.ts';

export type { LabelOperator, LabelRequirement, Labels } from './label-requirement.ts';

export interface LabelMatcher {
  matches(labels: Labels): boolean;
  /** True when the selector matches all labels. */
  readonly isEverything: boolean;
  /** True when the selector matches no labels. */
  readonly isNothing: boolean;
  readonly requirements: readonly LabelRequirement[];
  /** The number of requirements, which a comparison with labels may cost. */
  readonly size: number;
  /** The canonical text. */
  toString(): string;
}

/** The error of a LabelSelector object that cannot be compiled, with upstream's message. */
class LabelSelectorError extends Error {
  override readonly name = 'LabelSelectorError';
}

/** The text of one requirement: `a in (x,y)`, `!b`, `c=d`. */
function formatLabelRequirement({ key, operator, values }: LabelRequirement): string {
  switch (operator) {
    case 'exists':
      return key;
    case '!':
      return `!${key}`;
    case 'in':
    case 'notin':
      return `${key} ${operator} (${values.toSorted().join(',')})`;
    case 'gt':
      return `${key}>${values[0] ?? ''}`;
    case 'lt':
      return `${key}<${values[0] ?? ''}`;
    default:
      return `${key}${operator}${values[0] ?? ''}`;
  }
}

/** A matcher for requirements of which all must match. They are sorted when they are first read. */
export function compileRequirements(requirements: readonly LabelRequirement[]): LabelMatcher {
  let sorted: readonly LabelRequirement[] | undefined;
  const inOrder = (): readonly LabelRequirement[] =>
    (sorted ??= requirements.toSorted((a, b) => compareTexts(a.key, b.key)));
  return {
    matches: requirementsTest(requirements),
    isEverything: requirements.length === 0,
    isNothing: false,
    size: requirements.length,
    get requirements() {
      return inOrder();
    },
    toString: () => inOrder().map(formatLabelRequirement).join(','),
  };
}

export const everything: LabelMatcher = compileRequirements([]);

export const nothing: LabelMatcher = {
  matches: () => false,
  isEverything: false,
  isNothing: true,
  requirements: [],
  size: 0,
  toString: () => '',
};

const OPERATORS: Readonly<Record<string, LabelOperator>> = {
  In: 'in',
  NotIn: 'notin',
  Exists: 'exists',
  DoesNotExist: '!',
};

function fromExpression(expression: LabelSelectorRequirement): LabelRequirement {
  const operator = Object.hasOwn(OPERATORS, expression.operator) ? OPERATORS[expression.operator] : undefined;
  if (operator === undefined) {
    throw new LabelSelectorError(`${JSON.stringify(expression.operator)} is not a valid label selector operator`);
  }
  return { key: expression.key, operator, values: expression.values ?? [] };
}

/** Requirements of a plain label map: each label must have this value. */
export function requirementsFromMap(labels: Readonly<Record<string, string>>): LabelRequirement[] {
  return Object.entries(labels).map(([key, value]) => ({ key, operator: '=' as const, values: [value] }));
}

const compiled = new WeakMap<LabelSelector, LabelMatcher>();

/**
 * Compiles a LabelSelector object: an absent one selects nothing, an empty one everything. The result is cached for the object,
 * which must not change afterwards. Throws {@link LabelSelectorError} for an unknown operator.
 */
export function compileLabelSelector(selector: LabelSelector | undefined): LabelMatcher {
  if (selector === undefined || selector === null) return nothing;
  const cached = compiled.get(selector);
  if (cached !== undefined) return cached;
  const requirements = requirementsFromMap(selector.matchLabels ?? {});
  for (const expression of selector.matchExpressions ?? []) requirements.push(fromExpression(expression));
  const matcher = compileRequirements(requirements);
  compiled.set(selector, matcher);
  return matcher;
}

const compiledMaps = new WeakMap<object, LabelMatcher>();

/**
 * The matcher of a plain map (services, replication controllers): an absent or empty map selects everything, as upstream's
 * SelectorFromSet. Remembered per map, which must not change afterwards.
 */
export function compileLabelMap(labels: Labels): LabelMatcher {
  if (labels === undefined || labels === null) return everything;
  let matcher = compiledMaps.get(labels);
  if (matcher === undefined) compiledMaps.set(labels, (matcher = new MapMatcher(labels)));
  return matcher;
}

/** Compares with the map itself: a namespace may have thousands of maps, each of thousands of labels. */
class MapMatcher implements LabelMatcher {
  readonly isNothing = false;
  readonly #wanted: NonNullable<Labels>;
  readonly #keys: readonly string[];

  constructor(wanted: NonNullable<Labels>) {
    this.#wanted = wanted;
    this.#keys = Object.keys(wanted);
  }

  get isEverything(): boolean {
    return this.#keys.length === 0;
  }

  get size(): number {
    return this.#keys.length;
  }

  matches(labels: Labels = {}): boolean {
    // Inherited properties are no texts, so that an equal one is the object's own.
    for (const key of this.#keys) if (labels[key] !== this.#wanted[key]) return false;
    return true;
  }

  get requirements(): readonly LabelRequirement[] {
    return this.#compiled.requirements;
  }

  toString(): string {
    return this.#compiled.toString();
  }

  get #compiled(): LabelMatcher {
    return compileRequirements(requirementsFromMap(this.#wanted));
  }
}

/** The canonical text of a LabelSelector object, as in a scale's status. */
export function formatLabelSelector(selector: LabelSelector | undefined): string {
  return compileLabelSelector(selector).toString();
}
