/** Whether tolerations tolerate taints. Upstream: component-helpers/scheduling/corev1, api/core/v1 toleration.go. */
import type { Taint, Toleration } from './gen/core-v1.ts';

/** A taint in kubectl's form: `key=value:effect`. */
export function taintText({ key, value = '', effect }: Taint): string {
  return `${key}${value === '' ? '' : `=${value}`}:${effect}`;
}

/** Compares two integers in text form; undefined when either is invalid. */
function compareIntegers(a: string, b: string): number | undefined {
  if (!/^(0|-?[1-9]\d*)$/.test(a) || !/^(0|-?[1-9]\d*)$/.test(b)) return undefined;
  const left = BigInt(a);
  const right = BigInt(b);
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Whether one toleration tolerates one taint. An empty effect matches all effects, an empty key (with Exists) all keys. */
export function toleratesTaint(toleration: Toleration, taint: Taint): boolean {
  const { effect = '', key = '', operator = '', value = '' } = toleration;
  if (effect !== '' && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  switch (operator) {
    case '':
    case 'Equal':
      return value === (taint.value ?? '');
    case 'Exists':
      return true;
    case 'Lt':
      return (compareIntegers(taint.value ?? '', value) ?? 0) < 0;
    case 'Gt':
      return (compareIntegers(taint.value ?? '', value) ?? 0) > 0;
    default:
      return false;
  }
}

/** Shorter lists are searched linearly. */
const INDEXED_FROM = 16;

/** Tolerations by the key of the taints that they tolerate, because both lists may be long. */
class TolerationIndex {
  readonly #byKey = new Map<string, Toleration[]>();
  /** One toleration without a key for each effect and time; more would be redundant. */
  readonly #ofAnyKey = new Map<string, Toleration>();

  constructor(tolerations: readonly Toleration[]) {
    for (const toleration of tolerations) {
      const { key = '', effect = '', operator = '', value = '' } = toleration;
      if (key === '') this.#addOfAnyKey(`${effect} ${operator} ${value}`, toleration);
      else {
        const others = this.#byKey.get(key);
        if (others === undefined) this.#byKey.set(key, [toleration]);
        else others.push(toleration);
      }
    }
  }

  bearing(taint: Taint): Toleration[] {
    const candidates = [...(this.#byKey.get(taint.key) ?? []), ...this.#ofAnyKey.values()];
    return candidates.filter((toleration) => toleratesTaint(toleration, taint));
  }

  #addOfAnyKey(what: string, toleration: Toleration): void {
    const existing = this.#ofAnyKey.get(what);
    if (existing === undefined || isShorter(toleration.tolerationSeconds, existing.tolerationSeconds))
      this.#ofAnyKey.set(what, toleration);
  }
}

function isShorter(seconds: Toleration['tolerationSeconds'], than: Toleration['tolerationSeconds']): boolean {
  return seconds !== undefined && (than === undefined || seconds < than);
}

const indexes = new WeakMap<readonly Toleration[], TolerationIndex>();

function indexOf(tolerations: readonly Toleration[]): TolerationIndex {
  let index = indexes.get(tolerations);
  if (index === undefined) indexes.set(tolerations, (index = new TolerationIndex(tolerations)));
  return index;
}

/** The tolerations that tolerate the taint. Of equal ones without a key only that with the least time is returned. */
export function getMatchingTolerations(tolerations: readonly Toleration[], taint: Taint): Toleration[] {
  if (tolerations.length < INDEXED_FROM) return tolerations.filter((toleration) => toleratesTaint(toleration, taint));
  return indexOf(tolerations).bearing(taint);
}

/** Whether any of the tolerations tolerates the taint. */
export function tolerationsTolerateTaint(tolerations: readonly Toleration[], taint: Taint): boolean {
  if (tolerations.length < INDEXED_FROM) return tolerations.some((toleration) => toleratesTaint(toleration, taint));
  return indexOf(tolerations).bearing(taint).length > 0;
}

/** The first taint that `concerns` selects and that no toleration tolerates. */
export function findUntoleratedTaint(
  taints: readonly Taint[],
  tolerations: readonly Toleration[],
  concerns: (taint: Taint) => boolean = () => true,
): Taint | undefined {
  return taints.find((taint) => concerns(taint) && !tolerationsTolerateTaint(tolerations, taint));
}
