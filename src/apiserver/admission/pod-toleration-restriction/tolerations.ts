/** Which tolerations cover others, that is, tolerate every taint that the others do. Upstream: pkg/util/tolerations. */
import type { Toleration } from '../../../api/gen/core-v1.ts';
import type { Steps } from '../../../base/steps.ts';

/**
 * Tolerations grouped by key, effect and value. The tolerations of a group differ only in their seconds, so its two
 * longest suffice, and a lookup takes constant time.
 */
class CoveringTolerations {
  readonly #byKey = new Map<string, OfKey>();

  add(toleration: Toleration): void {
    const { key = '' } = toleration;
    let ofKey = this.#byKey.get(key);
    if (ofKey === undefined) this.#byKey.set(key, (ofKey = { texts: new Set(), groups: new Map() }));
    const text = identity(toleration);
    const group = groupOf(toleration);
    if (ofKey.texts.has(text)) return;
    ofKey.texts.add(text);
    if (group === undefined) return;
    const added: TolerationDuration = { text, seconds: secondsCovered(toleration) };
    const longest = ofKey.groups.get(group);
    ofKey.groups.set(group, longest === undefined ? [added] : longestTwo([...longest, added]));
  }

  /** Whether one of them covers a toleration, or equals it. */
  cover(toleration: Toleration): boolean {
    const isEqual = this.#byKey.get(toleration.key ?? '')?.texts.has(identity(toleration)) === true;
    return isEqual || this.coverAsOther(toleration);
  }

  /** Whether one of them that is not equal to a toleration covers it. */
  coverAsOther(toleration: Toleration): boolean {
    const { key = '', effect = '', operator = '', value = '' } = toleration;
    const covers = (ofKey: OfKey | undefined, ofValue?: string): boolean =>
      ofKey !== undefined &&
      [groupName('', ofValue), groupName(effect, ofValue)].some((group) => lasts(ofKey.groups.get(group), toleration));
    const ofKey = this.#byKey.get(key);
    // A toleration without a key that Exists covers all keys.
    return covers(this.#byKey.get('')) || covers(ofKey) || (isEquality(operator) && covers(ofKey, value));
  }
}

interface OfKey {
  readonly texts: Set<string>;
  readonly groups: Map<string, readonly TolerationDuration[]>;
}

interface TolerationDuration {
  /** Distinguishes tolerations of one key. */
  readonly text: string;
  readonly seconds: number | bigint;
}

/** The duration that a toleration covers: only NoExecute tolerations end. */
function secondsCovered({ effect, tolerationSeconds }: Toleration): number | bigint {
  return (effect === 'NoExecute' ? tolerationSeconds : undefined) ?? Infinity;
}

function longestTwo(group: readonly TolerationDuration[]): readonly TolerationDuration[] {
  return group.toSorted((a, b) => (a.seconds < b.seconds ? 1 : a.seconds > b.seconds ? -1 : 0)).slice(0, 2);
}

function lasts(group: readonly TolerationDuration[] | undefined, toleration: Toleration): boolean {
  if (group === undefined) return false;
  const text = identity(toleration);
  const needed = toleration.tolerationSeconds ?? Infinity;
  return group.some((other) => other.text !== text && other.seconds >= needed);
}

/** An absent field is not equal to an empty one. */
function identity({ key, effect, operator, value, tolerationSeconds }: Toleration): string {
  return `${unambiguous(key)}${unambiguous(effect)}${unambiguous(operator)}${unambiguous(value)}${tolerationSeconds}`;
}

/** A text in a form whose end is unambiguous when joined. */
function unambiguous(text: string | undefined): string {
  return text === undefined ? '-' : `${text.length}:${text}`;
}

/** Undefined for operators that only cover equal tolerations. */
function groupOf({ effect = '', operator = '', value = '' }: Toleration): string | undefined {
  if (operator === 'Exists') return groupName(effect);
  return isEquality(operator) ? groupName(effect, value) : undefined;
}

/** Without a value: the group for all values. */
function groupName(effect: string, value?: string): string {
  return unambiguous(effect) + unambiguous(value);
}

function isEquality(operator: string): boolean {
  return operator === '' || operator === 'Equal';
}

/** Tolerations looked up in one step. */
const STEP = 1000;

/** Both lists without tolerations that others cover; of equal ones the first is kept. */
export function* mergeTolerations(first: readonly Toleration[], second: readonly Toleration[]): Steps<Toleration[]> {
  const all = [...first, ...second];
  const behind = new CoveringTolerations();
  const coveredBehind = new Set<number>();
  for (let at = all.length - 1; at >= 0; at--) {
    if (behind.coverAsOther(all[at]!)) coveredBehind.add(at);
    behind.add(all[at]!);
    if (at % STEP === STEP - 1) yield;
  }
  const before = new CoveringTolerations();
  const merged: Toleration[] = [];
  for (const [at, toleration] of all.entries()) {
    if (at % STEP === STEP - 1) yield;
    if (coveredBehind.has(at) || before.cover(toleration)) continue;
    before.add(toleration);
    merged.push(toleration);
  }
  return merged;
}

/** Whether each of some tolerations is covered. */
export function* areCovered(tolerations: readonly Toleration[], covering: readonly Toleration[]): Steps<boolean> {
  const index = new CoveringTolerations();
  for (const [at, toleration] of covering.entries()) {
    if (at % STEP === STEP - 1) yield;
    index.add(toleration);
  }
  for (const [at, toleration] of tolerations.entries()) {
    if (at % STEP === STEP - 1) yield;
    if (!index.cover(toleration)) return false;
  }
  return true;
}
