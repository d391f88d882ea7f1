/**
 * What the policy table should hold and what it is believed to hold. A pod that changes touches its own elements, a policy
 * its own chains: a change costs what changed. Pure memory: no I/O.
 */
import { elementsOf, selects, type PodView } from './policy-pods.ts';
import type { PodSelection, PodSet, PolicyChain, PolicyView } from './policy-rules.ts';

/** Elements of one set or map by what they came from. */
type Elements = Map<string, readonly string[]>;

/** A pod's verdicts: the chains its traffic goes to. */
interface Isolation {
  readonly address: string;
  readonly ingress: readonly PolicyChain[];
  readonly egress: readonly PolicyChain[];
}

/** The complete desired state. */
export interface PolicyState {
  /** No policy exists. */
  readonly empty: boolean;
  readonly sets: ReadonlyMap<string, { readonly named: boolean; readonly elements: ReadonlySet<string> }>;
  readonly chains: ReadonlyMap<string, readonly string[]>;
  /** `ingress-pods`, `egress-pods`: address to chain. */
  readonly verdicts: Readonly<Record<'ingress' | 'egress', ReadonlyMap<string, string>>>;
  /** Addresses of this node's pods. */
  readonly known: ReadonlySet<string>;
}

type LabelsOf = (namespace: string) => Readonly<Record<string, string>> | undefined;

/** The desired state, updated object by object. */
export class PolicyBook {
  readonly #labelsOf: LabelsOf;
  readonly #sha256Hex: (text: string) => string;
  readonly #pods = new Map<string, PodView>();
  readonly #policies = new Map<string, PolicyView>();
  /** Sets in use, with how many policies use them. */
  readonly #sets = new Map<string, { readonly set: PodSet; users: number; readonly elements: Elements }>();
  readonly #isolated = new Map<string, Isolation>();

  constructor(labelsOf: LabelsOf, sha256Hex: (text: string) => string) {
    this.#labelsOf = labelsOf;
    this.#sha256Hex = sha256Hex;
  }

  /** A pod as it is now; undefined when it is gone. */
  setPod(key: string, pod: PodView | undefined): void {
    if (pod === undefined) this.#pods.delete(key);
    else this.#pods.set(key, pod);
    for (const { set, elements } of this.#sets.values()) this.#place({ key, pod }, set, elements);
    this.#isolate(key, pod);
  }

  /** A policy as it is now; undefined when it is gone. */
  setPolicy(key: string, policy: PolicyView | undefined): void {
    const before = this.#policies.get(key);
    if (policy === undefined) this.#policies.delete(key);
    else this.#policies.set(key, policy);
    for (const set of setsOf(policy)) this.#use(set);
    for (const set of setsOf(before)) this.#release(set);
    const concerned = [before, policy].flatMap((view) => (view === undefined ? [] : [view.selection]));
    for (const [podKey, pod] of this.#pods)
      if (pod.here && concerned.some((selection) => this.#takes(selection, pod))) this.#isolate(podKey, pod);
  }

  /** The labels of a namespace changed. */
  namespaceChanged(namespace: string): void {
    for (const [key, pod] of this.#pods) if (pod.namespace === namespace) this.setPod(key, pod);
  }

  state(): PolicyState {
    const chains = new Map<string, readonly string[]>();
    const verdicts = { ingress: new Map<string, string>(), egress: new Map<string, string>() };
    for (const { address, ...sides } of this.#isolated.values())
      for (const side of ['ingress', 'egress'] as const) {
        const list = sides[side];
        if (list.length === 0) continue;
        for (const chain of list) chains.set(chain.name, chain.rules);
        const names = list.map(({ name }) => name).toSorted();
        const own = `${side}-of-${this.#sha256Hex(names.join()).slice(0, 16)}`;
        chains.set(own, [...names.map((name) => `jump ${name}`), 'drop']);
        verdicts[side].set(address, own);
      }
    const sets = new Map(
      [...this.#sets].map(([name, { set, elements }]) => [
        name,
        { named: set.portIds !== undefined, elements: new Set([...elements.values()].flat()) },
      ]),
    );
    const here = [...this.#pods.values()].filter((pod) => pod.here);
    return {
      empty: this.#policies.size === 0,
      sets,
      chains,
      verdicts,
      known: new Set(here.map(({ address }) => address)),
    };
  }

  #takes(selection: PodSelection, pod: PodView): boolean {
    return selects(selection, pod, this.#labelsOf);
  }

  #isolate(key: string, pod: PodView | undefined): void {
    this.#isolated.delete(key);
    if (pod?.here !== true) return;
    const views = [...this.#policies.values()].filter(({ selection }) => this.#takes(selection, pod));
    const ingress = views.flatMap((view) => view.ingress ?? []);
    const egress = views.flatMap((view) => view.egress ?? []);
    if (ingress.length + egress.length > 0) this.#isolated.set(key, { address: pod.address, ingress, egress });
  }

  #place({ key, pod }: { key: string; pod: PodView | undefined }, set: PodSet, elements: Elements): void {
    const own = pod === undefined ? [] : elementsOf(set, pod, this.#labelsOf);
    if (own.length === 0) elements.delete(key);
    else elements.set(key, own);
  }

  #use(set: PodSet): void {
    const known = this.#sets.get(set.name);
    if (known !== undefined) {
      known.users++;
      return;
    }
    const elements: Elements = new Map();
    for (const [key, pod] of this.#pods) this.#place({ key, pod }, set, elements);
    this.#sets.set(set.name, { set, users: 1, elements });
  }

  #release(set: PodSet): void {
    const known = this.#sets.get(set.name);
    if (known !== undefined && --known.users === 0) this.#sets.delete(set.name);
  }
}

function setsOf(policy: PolicyView | undefined): readonly PodSet[] {
  return [...(policy?.ingress?.sets ?? []), ...(policy?.egress?.sets ?? [])];
}
