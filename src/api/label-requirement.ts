/** The requirements of a label selector, and whether labels meet all of them. Upstream: apimachinery/pkg/labels Requirement. */

/** Operators of a requirement. */
export type LabelOperator = '=' | '==' | '!=' | 'in' | 'notin' | 'exists' | '!' | 'gt' | 'lt';

export interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  readonly values: readonly string[];
}

/** Labels of an object. */
export type Labels = Readonly<Record<string, string>> | undefined;

/** Selectors with more requirements are indexed: a client's may have thousands, and be compared with thousands of pods. */
const FEW = 8;

/** Whether labels meet all requirements. Of many requirements each object costs what its labels are, not what the selector is. */
export function requirementsTest(requirements: readonly LabelRequirement[]): (labels: Labels) => boolean {
  if (requirements.length > FEW) {
    let rules: LabelRules | undefined;
    return (labels) => (rules ??= new LabelRules(requirements)).areMet(labels);
  }
  const terms = requirements.map((requirement): Term => ({ requirement, includes: membership(requirement.values) }));
  return (labels) => {
    for (const term of terms) if (!requirementMatches(term, labels)) return false;
    return true;
  };
}

function hasOwn(labels: Labels, key: string): boolean {
  return labels !== undefined && Object.hasOwn(labels, key);
}

/** Longer lists of values are looked up in a Set. */
const SHORT_LIST = 8;

/** Whether a value is among some. */
type Includes = (value: string) => boolean;

/** Looks values up among some; of many in a Set. */
export function membership(values: readonly string[]): Includes {
  if (values.length === 1) return (value) => value === values[0];
  if (values.length <= SHORT_LIST) return (value) => values.includes(value);
  const set = new Set(values);
  return (value) => set.has(value);
}

interface Term {
  readonly requirement: LabelRequirement;
  readonly includes: Includes;
}

function requirementMatches({ requirement, includes }: Term, labels: Labels): boolean {
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

/** All requirements for one label. Sets are made where they are needed: a selector may have thousands of labels. */
class LabelRule {
  isRequired = false;
  #isForbidden = false;
  /** Undefined: any value. */
  #allowed: ReadonlySet<string> | undefined;
  #denied: Set<string> | undefined;
  #bounds: [operator: 'gt' | 'lt', bound: string][] | undefined;

  add({ operator, values }: LabelRequirement): void {
    switch (operator) {
      case '!':
        this.#isForbidden = true;
        return;
      case '!=':
      case 'notin':
        this.#denied ??= new Set();
        for (const value of values) this.#denied.add(value);
        return;
      case 'gt':
      case 'lt':
        (this.#bounds ??= []).push([operator, values[0] ?? '']);
        break;
      case '=':
      case '==':
      case 'in':
        this.#allowed = this.#allowed === undefined ? new Set(values) : new Set(values).intersection(this.#allowed);
        break;
      case 'exists':
        break;
    }
    this.isRequired = true;
  }

  takes(value: string): boolean {
    if (this.#isForbidden || this.#denied?.has(value) === true || this.#allowed?.has(value) === false) return false;
    return this.#bounds?.every(([operator, bound]) => comparesAs(operator, value, bound)) !== false;
  }
}

/** Requirements by label. */
class LabelRules {
  readonly #rules = new Map<string, LabelRule>();
  #required = 0;

  constructor(requirements: readonly LabelRequirement[]) {
    for (const requirement of requirements) {
      let rule = this.#rules.get(requirement.key);
      if (rule === undefined) this.#rules.set(requirement.key, (rule = new LabelRule()));
      rule.add(requirement);
    }
    for (const { isRequired } of this.#rules.values()) if (isRequired) this.#required++;
  }

  areMet(labels: Labels = {}): boolean {
    return countOf(labels) <= FEW_LABELS ? this.#takesEach(labels) : this.#findsEach(labels);
  }

  #takesEach(labels: NonNullable<Labels>): boolean {
    let found = 0;
    for (const key in labels) {
      const rule = this.#rules.get(key);
      if (rule === undefined || !Object.hasOwn(labels, key)) continue;
      if (!rule.takes(labels[key]!)) return false;
      if (rule.isRequired) found++;
    }
    return found === this.#required;
  }

  #findsEach(labels: NonNullable<Labels>): boolean {
    for (const [key, rule] of this.#rules)
      if (!(Object.hasOwn(labels, key) ? rule.takes(labels[key]!) : !rule.isRequired)) return false;
    return true;
  }
}

/** The labels of an object with more are looked up, not listed: to list thousands takes milliseconds. */
const FEW_LABELS = 64;

/** How many labels an object had when it was first asked: it says which way is the shorter one, no more. */
const counts = new WeakMap<object, number>();

function countOf(labels: NonNullable<Labels>): number {
  let count = counts.get(labels);
  if (count === undefined) counts.set(labels, (count = Object.keys(labels).length));
  return count;
}
