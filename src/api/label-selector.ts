/**
 * Label selectors: LabelSelector objects and their matching. The text form is parsed in label-selector-parser.ts.
 * Upstream: apimachinery/pkg/labels, metav1.LabelSelectorAsSelector.
 */
import type { LabelSelector, LabelSelectorRequirement } from './gen/meta-v1.ts';

/** Operators of a requirement. */
export type LabelOperator = '=' | '==' | '!=' | 'in' | 'notin' | 'exists' | '!' | 'gt' | 'lt';

export interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  readonly values: readonly string[];
}

/** Labels of an object. */
export type Labels = Readonly<Record<string, string>> | undefined;

export interface LabelMatcher {
  matches(labels: Labels): boolean;
  /** True when it selects everything. */
  readonly isEverything: boolean;
  /** True when it selects nothing whatever the labels. */
  readonly isNothing: boolean;
  readonly requirements: readonly LabelRequirement[];
  /** Canonical text. */
  toString(): string;
}

/** A LabelSelector object that cannot be compiled; the message is upstream's. */
class LabelSelectorError extends Error {
  override readonly name = 'LabelSelectorError';
}

function hasOwn(labels: Labels, key: string): boolean {
  return labels !== undefined && Object.hasOwn(labels, key);
}

/** Lists longer than this are looked up by hash. */
const SHORT_LIST = 8;

/** Whether a value is among those of a requirement. */
type Includes = (value: string) => boolean;

function membership(values: readonly string[]): Includes {
  if (values.length === 1) return (value) => value === values[0];
  if (values.length <= SHORT_LIST) return (value) => values.includes(value);
  const set = new Set(values);
  return (value) => set.has(value);
}

interface Term {
  readonly requirement: LabelRequirement;
  readonly includes: Includes;
}

function holds({ requirement, includes }: Term, labels: Labels): boolean {
  const { key, operator, values } = requirement;
  const has = hasOwn(labels, key);
  const value = has ? labels![key]! : '';
  switch (operator) {
    case '=':
    case '==':
    case 'in':
      return has && includes(value);
    case '!=':
    case 'notin':
      return !has || !includes(value);
    case 'exists':
      return has;
    case '!':
      return !has;
    case 'gt':
    case 'lt':
      return has && comparesAs(operator, value, values[0] ?? '');
  }
}

function comparesAs(operator: 'gt' | 'lt', value: string, bound: string): boolean {
  if (!/^[+-]?\d+$/.test(value) || !/^[+-]?\d+$/.test(bound)) return false;
  return operator === 'gt' ? BigInt(value) > BigInt(bound) : BigInt(value) < BigInt(bound);
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

/** A matcher for requirements that must all hold. */
export function compileRequirements(requirements: readonly LabelRequirement[]): LabelMatcher {
  const sorted = requirements.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  const terms = sorted.map((requirement): Term => ({ requirement, includes: membership(requirement.values) }));
  return {
    matches(labels) {
      for (const term of terms) if (!holds(term, labels)) return false;
      return true;
    },
    isEverything: sorted.length === 0,
    isNothing: false,
    requirements: sorted,
    toString: () => sorted.map(formatLabelRequirement).join(','),
  };
}

/** Selects all. */
export const everything: LabelMatcher = compileRequirements([]);

/** Selects none. */
export const nothing: LabelMatcher = {
  matches: () => false,
  isEverything: false,
  isNothing: true,
  requirements: [],
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

/** Requirements of a plain label map: each label must be equal. */
export function requirementsFromMap(labels: Readonly<Record<string, string>>): LabelRequirement[] {
  return Object.entries(labels).map(([key, value]) => ({ key, operator: '=' as const, values: [value] }));
}

const compiled = new WeakMap<LabelSelector, LabelMatcher>();

/**
 * Compiles a LabelSelector object: absent selects nothing, empty selects everything. Remembered per object, which must
 * not change afterwards. Throws {@link LabelSelectorError} for an unknown operator.
 */
export function compileLabelSelector(selector: LabelSelector | undefined): LabelMatcher {
  if (selector === undefined || selector === null) return nothing;
  const known = compiled.get(selector);
  if (known !== undefined) return known;
  const requirements = requirementsFromMap(selector.matchLabels ?? {});
  for (const expression of selector.matchExpressions ?? []) requirements.push(fromExpression(expression));
  const matcher = compileRequirements(requirements);
  compiled.set(selector, matcher);
  return matcher;
}

/** Matcher of a plain map (services, replication controllers): absent or empty selects everything, as upstream's SelectorFromSet. */
export function compileLabelMap(labels: Labels): LabelMatcher {
  return compileRequirements(requirementsFromMap(labels ?? {}));
}

/** The canonical text of a LabelSelector object: what a scale's status carries. */
export function formatLabelSelector(selector: LabelSelector | undefined): string {
  return compileLabelSelector(selector).toString();
}
