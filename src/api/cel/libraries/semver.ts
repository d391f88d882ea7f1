/** Semantic versions. Upstream: apiserver/pkg/cel/library/semverlib.go, version 1. */
import { copyWork } from '../meter.ts';
import { structTypeOf } from '../types/type.ts';
import type { Declarations } from '../types/declarations.ts';
import type { CelObject } from '../runtime/values.ts';
import { EQUALS, FunctionError, TO_JSON, TYPE_NAME } from '../runtime/values.ts';

const NAME = 'kubernetes.Semver';

class Semver implements CelObject {
  readonly [TYPE_NAME] = NAME;
  readonly numbers: readonly [bigint, bigint, bigint];
  readonly pre: readonly string[];
  readonly build: string;

  constructor(numbers: readonly [bigint, bigint, bigint], pre: readonly string[], build: string) {
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

const STRICT =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?$/;

/** Declares the library. */
export function defineSemver(declarations: Declarations): void {
  declarations.addType(structTypeOf(NAME, undefined));
  declarations.define({
    [`semver(string): ${NAME}`]: (text: string) => semverOf(text, false),
    [`semver(string, bool): ${NAME}`]: semverOf,
    'isSemver(string): bool': (text: string) => readSemver(text) !== undefined,
    'isSemver(string, bool): bool': (text: string, normalize: boolean) =>
      readSemver(normalize ? normalized(text) : text) !== undefined,
    [`${NAME}.major(): int`]: (version: Semver) => version.numbers[0],
    [`${NAME}.minor(): int`]: (version: Semver) => version.numbers[1],
    [`${NAME}.patch(): int`]: (version: Semver) => version.numbers[2],
    [`${NAME}.compareTo(${NAME}): int`]: compare,
    [`${NAME}.isGreaterThan(${NAME}): bool`]: (a: Semver, b: Semver) => compare(a, b) > 0n,
    [`${NAME}.isLessThan(${NAME}): bool`]: (a: Semver, b: Semver) => compare(a, b) < 0n,
  });
}

/** The value of a version's text. */
export function semverOf(text: string, normalize: boolean): Semver {
  const version = readSemver(normalize ? normalized(text) : text);
  if (version === undefined)
    throw new FunctionError(`Semver parse error: invalid semantic version ${JSON.stringify(text)}`);
  return version;
}

function readSemver(text: string): Semver | undefined {
  const match = STRICT.exec(text);
  if (match === null) return undefined;
  const [, major = '0', minor = '0', patch = '0', pre, build = ''] = match;
  const parts = pre?.split('.') ?? [];
  if ([major, minor, patch, ...parts.filter(isNumeric)].some(isTooLarge)) return undefined;
  return new Semver([BigInt(major), BigInt(minor), BigInt(patch)], parts, build);
}

function isNumeric(part: string): boolean {
  return /^\d+$/.test(part);
}

/** Upstream's numbers have 64 bits. */
function isTooLarge(digits: string): boolean {
  return digits.length > 20 || BigInt(digits) >= 2n ** 64n;
}

/** Drops a leading `v`, fills missing parts, strips leading zeros. */
function normalized(text: string): string {
  const [, core = '', rest = ''] = /^v?([\d.]*)(.*)$/s.exec(text.trim()) ?? [];
  const parts = core.split('.').map((part) => part.replace(/^0+(?=\d)/, ''));
  if (rest === '') while (parts.length < 3) parts.push('0');
  return parts.join('.') + rest;
}

/** Below zero: `a` comes first. */
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
    copyWork(left.length);
    if (right === undefined) return 1n;
    if (left === right) continue;
    const numeric = [isNumeric(left), isNumeric(right)];
    if (numeric[0] && numeric[1]) return BigInt(left) < BigInt(right) ? -1n : 1n;
    if (numeric[0] !== numeric[1]) return numeric[0] ? -1n : 1n;
    return left < right ? -1n : 1n;
  }
  return a.length < b.length ? -1n : 0n;
}
