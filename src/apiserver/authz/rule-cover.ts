/**
 * Whether the rules that someone holds cover rules to be granted, and which parts are missing. Pure. Upstream:
 * component-helpers/auth/rbac/validation (Covers). Differs: rules are not expanded into single permissions, since
 * three lists of a thousand values are a billion of them. Values that are in the same held rules form one class, and
 * classes are combined.
 */
import type { PolicyRule } from '../../api/gen/rbac-v1.ts';
import { HeldRules, type HolderClass } from './held-rules.ts';
import { appendAll } from '../../base/lists.ts';

/** The most missing parts reported. */
const MOST_PARTS = 1000;

/**
 * The first parts of `wanted` that no rule of `held` covers, as single verbs and resources. Empty: everything is
 * covered.
 */
export function uncoveredRules(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  const holders = new HeldRules(held);
  const parts: PolicyRule[] = [];
  for (const rule of wanted) {
    for (const side of [resourceSide(holders, rule), urlSide(holders, rule)]) {
      const left = MOST_PARTS - parts.length;
      if (left > 0) for (const at of missingOf(holders, side.axes, left)) parts.push(side.part(at));
    }
    if (parts.length >= MOST_PARTS) break;
  }
  return parts;
}

/** The indices of one list of a rule, grouped by the held rules that contain their values. */
type Axis = ReadonlyMap<HolderClass, readonly number[]>;

/** A rule as lists to combine, with a function that gives the rule for one value of each list. */
interface RuleProduct {
  readonly axes: readonly Axis[];
  part(at: readonly number[]): PolicyRule;
}

function resourceSide(holders: HeldRules, rule: PolicyRule): RuleProduct {
  const { apiGroups: groups = [], resources = [], resourceNames: names = [], verbs } = rule;
  const ofNames = names.length === 0 ? [holders.anyName()] : names.map((name) => holders.ofName(name));
  return {
    axes: [
      axis(groups.map((group) => holders.ofGroup(group))),
      axis(resources.map((resource) => holders.ofResource(resource))),
      axis(verbs.map((verb) => holders.ofVerb(verb))),
      axis(ofNames),
    ],
    part: ([group = 0, resource = 0, verb = 0, name = 0]) => ({
      apiGroups: [groups[group]!],
      resources: [resources[resource]!],
      verbs: [verbs[verb]!],
      ...(names.length > 0 && { resourceNames: [names[name]!] }),
    }),
  };
}

function urlSide(holders: HeldRules, { nonResourceURLs: urls = [], verbs }: PolicyRule): RuleProduct {
  return {
    axes: [
      axis(urls.map((url) => holders.ofUrl(url))),
      axis(verbs.map((verb) => holders.ofVerb(verb))),
      axis([holders.anyName()]),
    ],
    part: ([url = 0, verb = 0]) => ({ nonResourceURLs: [urls[url]!], verbs: [verbs[verb]!] }),
  };
}

function axis(ofValues: readonly HolderClass[]): Axis {
  const classes = new Map<HolderClass, number[]>();
  for (const [at, held] of ofValues.entries()) {
    const known = classes.get(held);
    if (known === undefined) classes.set(held, [at]);
    else known.push(at);
  }
  return classes;
}

/** The indices into the lists that no rule covers, in the lists' order; at most `most`. */
function missingOf(holders: HeldRules, axes: readonly Axis[], most: number): (readonly number[])[] {
  if (axes.some(({ size }) => size === 0)) return [];
  const found: (readonly number[])[] = [];
  /** For each depth: the rules that cover all of the lists from there on. */
  const whole = axes.map((_, depth) =>
    axes
      .slice(depth)
      .flatMap((one) => [...one.keys()])
      .reduce((a, b) => holders.both(a, b)),
  );
  const combine = (depth: number, held: HolderClass, chosen: readonly (readonly number[])[]): void => {
    if (found.length >= most) return;
    if (depth === axes.length) {
      if (held.rules.size === 0) appendAll(found, product(chosen, most - found.length));
      return;
    }
    if (holders.both(held, whole[depth]!).rules.size > 0) return;
    for (const [next, places] of axes[depth]!) combine(depth + 1, holders.both(held, next), [...chosen, places]);
  };
  if (whole[0]!.rules.size > 0) return [];
  for (const [held, places] of axes[0]!) combine(1, held, [places]);
  return found.toSorted(inOrder);
}

/** The first combinations of one element of each list. */
function product(lists: readonly (readonly number[])[], most: number): (readonly number[])[] {
  let combined: (readonly number[])[] = [[]];
  for (const list of lists) {
    const next: (readonly number[])[] = [];
    for (const start of combined) {
      for (const value of list) {
        if (next.length >= most) break;
        next.push([...start, value]);
      }
    }
    combined = next;
  }
  return combined;
}

function inOrder(a: readonly number[], b: readonly number[]): number {
  for (const [at, value] of a.entries()) if (value !== b[at]) return value - b[at]!;
  return 0;
}
