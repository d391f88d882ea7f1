/**
 * Estimates how long a regular expression takes to compile, before it is compiled: in instructions, each of which takes about a
 * microsecond. Go has no such limit, because its requests do not wait for each other.
 */
import { programSize } from './re2-size.ts';

/** Compiling this many characters takes some ten milliseconds, apart from classes. A longer pattern is not compiled. */
export const MAX_PATTERN_LENGTH = 16 * 1024;

/** What an instruction of a class such as `\pL` counts as. */
const UNICODE_INSTRUCTION = 16;
/** What reading such a class once counts as: its ranges are copied and sorted, in alternatives several times. */
const UNICODE_TABLE = 256;
/** Without case, the compiler looks up each character of a range, between the first and the last one that has a case. */
const RUNES_OF_INSTRUCTION = 16;
const FIRST_WITH_CASE = 0x41;
const LAST_WITH_CASE = 0x1_e943;

const IGNORES_CASE = /\(\?[imsU]*i/;
/** A character of a class, or an escape. Escapes of letters are controls, and escapes of classes have no ranges. */
const CHARACTER = /\\x\{([\da-f]+)\}|\\x([\da-f]{2})|\\([0-7]{1,3})|(\\[a-z])|\\(.)|(.)/gisu;

/** At least the size of the program. What only looks like a range counts, too. */
export function compileSize(pattern: string): number {
  const size = programSize(pattern, UNICODE_INSTRUCTION);
  if (pattern.length > MAX_PATTERN_LENGTH) return size;
  const tables = pattern.match(/\\p/gi)?.length ?? 0;
  const folded = IGNORES_CASE.test(pattern) ? foldedRunes(pattern) : 0;
  return size + UNICODE_TABLE * tables + Math.ceil(folded / RUNES_OF_INSTRUCTION);
}

/** The number of characters that are looked up. A class is read once, however often it is repeated. */
function foldedRunes(pattern: string): number {
  let sum = 0;
  let [low, last, isRange] = [0, 0, false];
  for (const [, braced, hex, octal, letter, escaped, plain] of pattern.matchAll(CHARACTER)) {
    const digits = braced ?? hex;
    const code =
      digits !== undefined
        ? parseInt(digits, 16)
        : octal !== undefined
          ? parseInt(octal, 8)
          : letter !== undefined
            ? 0
            : (escaped ?? plain ?? '').codePointAt(0)!;
    if (isRange) sum += Math.max(0, Math.min(code, LAST_WITH_CASE) - Math.max(low, FIRST_WITH_CASE) + 1);
    isRange = plain === '-';
    [low, last] = [last, code];
  }
  return sum;
}
