/**
 * The desired and the programmed content of the policy table. A changed pod updates its own elements, a changed
 * policy its own chains, so a change costs as much as its effects. A selector of one namespace is compared with that
 * namespace's pods only, and a change that concerns many pods is processed in steps. Pure memory: no I/O.
 */
import type { Steps } from '../../base/steps.ts';
import { elementsOf, selects, type PodView } from './policy-pods.ts';
import type { PodSelection, PodSet, PolicyChain, PolicyView } from './policy-rules.ts';

/** Selectors compared with pods in one step. */
const SELECTIONS_PER_STEP = 5000;

/** Elements of one set or map by the object they come from. */
type Elements = Map<string, readonly string[]>;

/** A pod's verdicts: the chains its traffic goes to. */
interface Isolation {
  readonly address: string;
  readonly ingress: readonly PolicyChain[];
  readonly egress: readonly PolicyChain[];
}

export interface PolicyState {
  /** There is no policy. */
  readonly empty: boolean;
  readonly sets: ReadonlyMap<string, { readonly named: boolean; readonly elements: ReadonlySet<string> }>;
  readonly chains: ReadonlyMap<string, readonly string[]>;
  /** `ingress-pods`, `egress-pods`: the chain by pod address. */
  readonly verdicts: Readonly<Record<'ingress' | 'egress', ReadonlyMap<string, string>>>;
  /** Addresses of this node's pods. */
  readonly known: ReadonlySet<string>;
}

type LabelsOf = (namespace: string) => Readonly<Record<string, string>> | undefined;

interface UsedSet {
  readonly set: PodSet;
  users: number;
  readonly elements: Elements;
}

/** Values by namespace and name; '' is the key for all namespaces. */
class ByNamespace<T> {
  readonly #values = new Map<string, Map<string, T>>();

  set(namespace: string, name: string, value: T): void {
    const existing = this.#values.get(namespace);
    if (existing === undefined) this.#values.set(namespace, new Map([[name, value]]));
    else existing.set(name, value);
  }

  delete(namespace: string, name: string): void {
    const existing = this.#values.get(namespace);
    existing?.delete(name);
    if (existing?.size === 0) this.#values.delete(namespace);
  }

  of(namespace: string): ReadonlyMap<string, T> {
    return this.#values.get(namespace) ?? new Map<string, T>();
  }
}

/** The desired state, updated object by object: each change is completed before the next begins. */
export class PolicyBook {
  readonly #labelsOf: LabelsOf;
  readonly #sha256Hex: (text: string) => string;
  readonly #pods = new Map<string, PodView>();
  readonly #policies = new Map<string, PolicyView>();
  readonly #podsByNamespace = new ByNamespace<PodView>();
  readonly #policiesByNamespace = new ByNamespace<PolicyView>();
  /** Sets in use, with the number of policies that use them. */
  readonly #sets = new Map<string, UsedSet>();
  readonly #setsByNamespace = new ByNamespace<UsedSet>();
  #sinceStep = 0;
  readonly #isolated = new Map<string, Isolation>();

  constructor(labelsOf: LabelsOf, sha256Hex: (text: string) => string) {
    this.#labelsOf = labelsOf;
    this.#sha256Hex = sha256Hex;
  }

  /** Sets a pod's current version; undefined: it was deleted. */
  *setPod(key: string, pod: PodView | undefined): Steps<void> {
    const before = this.#pods.get(key);
    if (pod === undefined) this.#pods.delete(key);
    else this.#pods.set(key, pod);
    if (before !== undefined) this.#podsByNamespace.delete(before.namespace, key);
    if (pod !== undefined) this.#podsByNamespace.set(pod.namespace, key, pod);
    for (const namespace of new Set(['', before?.namespace ?? '', pod?.namespace ?? '']))
      for (const { set, elements } of this.#setsByNamespace.of(namespace).values()) {
        this.#place({ key, pod }, set, elements);
        if (this.#endsStep(set.selections.length)) yield;
      }
    this.#isolate(key, pod);
    if (this.#endsStep(this.#policiesByNamespace.of(pod?.namespace ?? '').size)) yield;
  }

  /** Sets a policy's current version; undefined: it was deleted. */
  *setPolicy(key: string, policy: PolicyView | undefined): Steps<void> {
    const before = this.#policies.get(key);
    if (policy === undefined) this.#policies.delete(key);
    else this.#policies.set(key, policy);
    if (before !== undefined) this.#policiesByNamespace.delete(namespaceOf(before.selection), key);
    if (policy !== undefined) this.#policiesByNamespace.set(namespaceOf(policy.selection), key, policy);
    for (const set of setsOf(policy)) yield* this.#use(set);
    for (const set of setsOf(before)) this.#release(set);
    const concerned = [before, policy].flatMap((view) => (view === undefined ? [] : [view.selection]));
    for (const namespace of new Set(concerned.map(namespaceOf)))
      for (const [podKey, pod] of this.#podsByNamespace.of(namespace)) {
        if (!pod.here || !concerned.some((selection) => this.#takes(selection, pod))) continue;
        this.#isolate(podKey, pod);
        if (this.#endsStep(this.#policiesByNamespace.of(namespace).size)) yield;
      }
  }

  /** The labels of a namespace changed. */
  *namespaceChanged(namespace: string): Steps<void> {
    for (const [key, pod] of [...this.#podsByNamespace.of(namespace)]) yield* this.setPod(key, pod);
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
    const policies = [...this.#policiesByNamespace.of(pod.namespace).values()];
    const views = policies.filter(({ selection }) => this.#takes(selection, pod));
    const ingress = views.flatMap((view) => view.ingress ?? []);
    const egress = views.flatMap((view) => view.egress ?? []);
    if (ingress.length + egress.length > 0) this.#isolated.set(key, { address: pod.address, ingress, egress });
  }

  #place({ key, pod }: { key: string; pod: PodView | undefined }, set: PodSet, elements: Elements): void {
    const own = pod === undefined ? [] : elementsOf(set, pod, this.#labelsOf);
    if (own.length === 0) elements.delete(key);
    else elements.set(key, own);
  }

  *#use(set: PodSet): Steps<void> {
    const usedSet = this.#sets.get(set.name);
    if (usedSet !== undefined) {
      usedSet.users++;
      return;
    }
    const used: UsedSet = { set, users: 1, elements: new Map() };
    this.#sets.set(set.name, used);
    for (const namespace of namespacesOf(set)) {
      this.#setsByNamespace.set(namespace, set.name, used);
      for (const [key, pod] of namespace === '' ? this.#pods : this.#podsByNamespace.of(namespace)) {
        this.#place({ key, pod }, set, used.elements);
        if (this.#endsStep(set.selections.length)) yield;
      }
    }
  }

  #release(set: PodSet): void {
    const usedSet = this.#sets.get(set.name);
    if (usedSet === undefined || --usedSet.users > 0) return;
    this.#sets.delete(set.name);
    for (const namespace of namespacesOf(set)) this.#setsByNamespace.delete(namespace, set.name);
  }

  /** Counts comparisons, and says whether the step is full. */
  #endsStep(selections: number): boolean {
    this.#sinceStep += selections + 1;
    if (this.#sinceStep < SELECTIONS_PER_STEP) return false;
    this.#sinceStep = 0;
    return true;
  }
}

/** The only namespace of the selection's pods; '' for any. */
function namespaceOf({ namespace = '' }: PodSelection): string {
  return namespace;
}

function namespacesOf({ selections }: PodSet): ReadonlySet<string> {
  const namespaces = new Set(selections.map(namespaceOf));
  return namespaces.has('') ? new Set(['']) : namespaces;
}

function setsOf(policy: PolicyView | undefined): readonly PodSet[] {
  return [...(policy?.ingress?.sets ?? []), ...(policy?.egress?.sets ?? [])];
}
