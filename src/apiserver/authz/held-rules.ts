/** Indexes the rules that a user holds by the values they contain. Pure. */
import type { PolicyRule } from '../../api/gen/rbac-v1.ts';
import { coversUrl } from '../../component-helpers/rbac/rule-matching.ts';

/** A set of rules, one object per distinct set. */
export interface HolderClass {
  readonly rules: ReadonlySet<number>;
  /** Cached intersections with other sets. */
  readonly common: Map<HolderClass, HolderClass>;
}

type Index = ReadonlyMap<string, readonly number[]>;

/** One field of all rules: the sets of rules by the values they name. */
interface Field {
  readonly index: Index;
  /** The rules that match every value. */
  readonly every: HolderClass;
  readonly byValue: Map<string, HolderClass>;
}

export class HeldRules {
  readonly #groups: Field;
  readonly #resources: Field;
  readonly #verbs: Field;
  readonly #names: Field;
  readonly #urls: Field;
  /** Equal sets share an object. */
  readonly #classes = new Map<string, HolderClass>();

  constructor(held: readonly PolicyRule[]) {
    const starred = (index: Index): Field => this.#field(index, index.get('*') ?? []);
    this.#groups = starred(indexOf(held, ({ apiGroups }) => apiGroups));
    this.#resources = starred(indexOf(held, ({ resources }) => resources));
    this.#verbs = starred(indexOf(held, ({ verbs }) => verbs));
    const unnamed = [...held.keys()].filter((at) => (held[at]!.resourceNames ?? []).length === 0);
    this.#names = this.#field(
      indexOf(held, ({ resourceNames }) => resourceNames),
      unnamed,
    );
    this.#urls = this.#field(
      indexOf(held, ({ nonResourceURLs }) => nonResourceURLs),
      [],
    );
  }

  ofGroup(group: string): HolderClass {
    return this.#find(this.#groups, group, [group]);
  }

  ofResource(resource: string): HolderClass {
    const slash = resource.indexOf('/');
    return this.#find(this.#resources, resource, slash < 0 ? [resource] : [resource, `*${resource.slice(slash)}`]);
  }

  ofVerb(verb: string): HolderClass {
    return this.#find(this.#verbs, verb, [verb]);
  }

  /** The rules for objects of any name, and those for this name. */
  ofName(name: string): HolderClass {
    return this.#find(this.#names, name, [name]);
  }

  anyName(): HolderClass {
    return this.#names.every;
  }

  ofUrl(url: string): HolderClass {
    const patterns = [...this.#urls.index.keys()].filter((pattern) => coversUrl(pattern, url));
    return this.#find(this.#urls, url, patterns);
  }

  /** The rules that are in both. */
  both(a: HolderClass, b: HolderClass): HolderClass {
    if (a === b) return a;
    let common = a.common.get(b);
    if (common === undefined) {
      const [few, many] = a.rules.size < b.rules.size ? [a.rules, b.rules] : [b.rules, a.rules];
      a.common.set(b, (common = this.#intern([...few].filter((rule) => many.has(rule)))));
    }
    return common;
  }

  #field(index: Index, every: readonly number[]): Field {
    return { index, every: this.#intern(every), byValue: new Map() };
  }

  /**
   * The rules that contain the value. Most values are named by no rule, or only matched by `*`: no sets are created
   * for them.
   */
  #find({ index, every, byValue }: Field, value: string, keys: readonly string[]): HolderClass {
    let cached = byValue.get(value);
    if (cached === undefined) {
      const more = keys.flatMap((key) => index.get(key) ?? []).filter((rule) => !every.rules.has(rule));
      cached = more.length === 0 ? every : this.#intern([...every.rules, ...more]);
      byValue.set(value, cached);
    }
    return cached;
  }

  #intern(rules: readonly number[]): HolderClass {
    const sorted = [...new Set(rules)].toSorted((a, b) => a - b);
    const key = sorted.join();
    let cached = this.#classes.get(key);
    if (cached === undefined) this.#classes.set(key, (cached = { rules: new Set(sorted), common: new Map() }));
    return cached;
  }
}

function indexOf(held: readonly PolicyRule[], valuesOf: (rule: PolicyRule) => readonly string[] | undefined): Index {
  const index = new Map<string, number[]>();
  for (const [at, rule] of held.entries()) {
    for (const value of valuesOf(rule) ?? []) {
      const known = index.get(value);
      if (known === undefined) index.set(value, [at]);
      else known.push(at);
    }
  }
  return index;
}
