import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compilePattern } from './cel/libraries/regex.ts';
import { patternOf } from './json-schema/patterns.ts';

const tooLarge = ['(a|'.repeat(300_000), 'a'.repeat(3_000_000), '(a|b)'.repeat(100_000), '['.repeat(1_000_000)];
const tooDeep = ['('.repeat(2000) + ')'.repeat(2000), '(a|'.repeat(1001) + ')'.repeat(1001)];

test('patterns that are too large or nested too deep are refused before they are compiled, in schemas and in expressions', () => {
  for (const [patterns, why] of [
    [tooLarge, /expression too large/],
    [tooDeep, /nests too deeply/],
  ] as const) {
    for (const pattern of patterns) {
      const found = patternOf(pattern);
      assert.ok('error' in found && why.test(found.error), pattern.slice(0, 10));
      assert.throws(() => compilePattern(pattern), why);
    }
  }
});

test('long alternatives and many adjacent groups are accepted', () => {
  for (const pattern of [
    `^(${Array.from({ length: 1000 }, (_, i) => `value-${i}`).join('|')})$`,
    '(a)'.repeat(1200),
    '[(]'.repeat(900),
    '\\('.repeat(3000),
  ])
    assert.ok('test' in patternOf(pattern), pattern.slice(0, 10));
});
