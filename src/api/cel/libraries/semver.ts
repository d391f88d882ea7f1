/** Semantic versions. Upstream: apiserver/pkg/cel/library/semverlib.go, version 1. */
import { copyWork, textWork, walkWork } from '../meter.ts';
import { structTypeOf } from '../types/type.ts';
import type { Declarations } from '../types/declarations.ts';
import type { CelObject } from '../runtime/values.ts';
import { EQUALS, FunctionError, TO_JSON, TYPE_NAME } from '../runtime/values.ts';
import { normalizedVersion, readVersion, type VersionParts } from './semver-text.ts';

const NAME = 'kubernetes.Semver';

class Semver implements CelObject {
  readonly [TYPE_NAME] = NAME;
  readonly numbers: readonly [bigint, bigint, bigint];
  readonly pre: readonly string[];
  readonly build: string;

  constructor({ numbers, pre, build }: VersionParts) {
    this.numbers = numbers;
    this.pre = pre;
    this.build = build;
  }

  [EQUALS](other: Semver): boolean {
    return compare(this, other) === 0n;
  }

  [TO_JSON](): string {
    const pre = this.pre.length === 0 ? '' : `-${this.pre.join('.')}`;
    return `${this.numbers.join('.')}${pre}${this.build === '' ? '' : `+${this.build}`}`;
  }
}

export function defineSemver(declarations: Declarations): void {
  declarations.addType(structTypeOf(NAME, undefined));
  declarations.define({
    [`semver(string): ${NAME}`]: (text: string) => semverOf(text, false),
    [`semver(string, bool): ${NAME}`]: semverOf,
    'isSemver(string): bool': (text: string) => readSemver(text, false) instanceof Semver,
    'isSemver(string, bool): bool': (text: string, normalize: boolean) => readSemver(text, normalize) instanceof Semver,
    [`${NAME}.major(): int`]: (version: Semver) => version.numbers[0],
    [`${NAME}.minor(): int`]: (version: Semver) => version.numbers[1],
    [`${NAME}.patch(): int`]: (version: Semver) => version.numbers[2],
    [`${NAME}.compareTo(${NAME}): int`]: compare,
    [`${NAME}.isGreaterThan(${NAME}): bool`]: (a: Semver, b: Semver) => compare(a, b) > 0n,
    [`${NAME}.isLessThan(${NAME}): bool`]: (a: Semver, b: Semver) => compare(a, b) < 0n,
  });
}

/** Parses a version. Throws `FunctionError`. */
export function semverOf(text: string, normalize: boolean): Semver {
  const version = readSemver(text, normalize);
  if (typeof version === 'string') throw new FunctionError(version);
  return version;
}

/** Units of work for a character of a version. */
const VERSION_WORK = 0.8;

/** The version, or the reason why the text is invalid. */
function readSemver(text: string, normalize: boolean): Semver | string {
  textWork(text, VERSION_WORK);
  const plain = normalize ? normalizedVersion(text) : { text };
  const parts = typeof plain === 'string' ? plain : readVersion(plain.text);
  return typeof parts === 'string' ? parts : new Semver(parts);
}

/** Negative when `a` precedes `b`. */
export function compare(a: Semver, b: Semver): bigint {
  for (const [index, number] of a.numbers.entries()) {
    const other = b.numbers[index] ?? 0n;
    if (number !== other) return number < other ? -1n : 1n;
  }
  return comparePre(a.pre, b.pre);
}

function comparePre(a: readonly string[], b: readonly string[]): bigint {
  if (a.length === 0 || b.length === 0) return BigInt(Math.sign(b.length - a.length));
  for (const [index, left] of a.entries()) {
    const right = b[index];
    walkWork(1);
    copyWork(left.length);
    if (right === undefined) return 1n;
    if (left === right) continue;
    const numeric = [/^\d+$/.test(left), /^\d+$/.test(right)];
    if (numeric[0] && numeric[1]) return BigInt(left) < BigInt(right) ? -1n : 1n;
    if (numeric[0] !== numeric[1]) return numeric[0] ? -1n : 1n;
    return left < right ? -1n : 1n;
  }
  return a.length < b.length ? -1n : 0n;
}
