/** Parses versions; the errors of invalid texts are upstream's. Upstream: Parse of blang/semver v4, which semverlib.go calls. */
import { quote } from '../../../base/go-quote.ts';

export interface VersionParts {
  readonly numbers: readonly [bigint, bigint, bigint];
  readonly pre: readonly string[];
  readonly build: string;
}

/** The parts of a version, or the reason why the text is invalid. */
export function readVersion(text: string): VersionParts | string {
  if (text === '') return 'Version string empty';
  const parts = splitInThree(text);
  if (parts.length < 3) return 'No Major.Minor.Patch elements found';
  const [major = '', minor = '', rest = ''] = parts;
  const [, patch = '', pre, build] = /^([^+-]*)(?:-([^+]*))?(?:\+(.*))?$/s.exec(rest) ?? [];
  const problem =
    numberProblem('Major', major) ??
    numberProblem('Minor', minor) ??
    numberProblem('Patch', patch) ??
    first(pre?.split('.'), preProblem) ??
    first(build?.split('.'), buildProblem);
  if (problem !== undefined) return problem;
  return {
    numbers: [BigInt(major), BigInt(minor), BigInt(patch)],
    pre: pre?.split('.') ?? [],
    build: build ?? '',
  };
}

/** Removes a leading `v` and leading zeros and adds missing parts; returns the reason when the text is invalid. */
export function normalizedVersion(text: string): { readonly text: string } | string {
  const parts = splitInThree(text.replace(/^v/, '')).map((part) =>
    part.length > 1 ? part.replace(/^0+/, '').replace(/^(?!\d)/, '0') : part,
  );
  if (parts.length < 3 && /[+-]/.test(parts.at(-1)!)) return 'short version cannot contain PreRelease/Build meta data';
  while (parts.length < 3) parts.push('0');
  return { text: parts.join('.') };
}

/** Splits at the first two dots. */
function splitInThree(text: string): string[] {
  const [, major, minor, rest] = /^([^.]*)(?:\.([^.]*)(?:\.(.*))?)?$/s.exec(text) ?? [];
  return [major, minor, rest].filter((part) => part !== undefined);
}

function first(parts: readonly string[] = [], problemOf: (part: string) => string | undefined): string | undefined {
  for (const part of parts) {
    const problem = problemOf(part);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function numberProblem(name: string, digits: string): string | undefined {
  if (!/^\d*$/.test(digits)) return `Invalid character(s) found in ${name.toLowerCase()} number ${quote(digits)}`;
  return zerosProblem(`${name} number`, digits) ?? sizeProblem(digits);
}

function zerosProblem(name: string, digits: string): string | undefined {
  return /^0./s.test(digits) ? `${name} must not contain leading zeroes ${quote(digits)}` : undefined;
}

/** Numbers must fit into 64 bits. */
function sizeProblem(digits: string): string | undefined {
  if (digits === '') return 'strconv.ParseUint: parsing "": invalid syntax';
  if (digits.length <= 20 && BigInt(digits) < 2n ** 64n) return undefined;
  return `strconv.ParseUint: parsing ${quote(digits)}: value out of range`;
}

function preProblem(part: string): string | undefined {
  if (part === '') return 'Prerelease is empty';
  if (/^\d+$/.test(part)) return zerosProblem('Numeric PreRelease version', part) ?? sizeProblem(part);
  return isAlphanumeric(part) ? undefined : `Invalid character(s) found in prerelease ${quote(part)}`;
}

function buildProblem(part: string): string | undefined {
  if (part === '') return 'Build meta data is empty';
  return isAlphanumeric(part) ? undefined : `Invalid character(s) found in build meta data ${quote(part)}`;
}

function isAlphanumeric(part: string): boolean {
  return /^[0-9A-Za-z-]+$/.test(part);
}
