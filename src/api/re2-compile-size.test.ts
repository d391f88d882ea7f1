/** Classes that take long to compile: without case each character of a range is looked up. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compilePattern } from './cel/libraries/regex.ts';
import { Meter, metered } from './cel/meter.ts';
import type { CustomResourceDefinition } from './gen/apiextensions-v1.ts';
import { Field } from './field-error.ts';
import { compileSize } from './re2-compile-size.ts';
import { compileRe2 } from './re2-pattern.ts';
import { programSize } from './re2-size.ts';
import { validateDefinitionBudget } from './validation/definition-budget.ts';

const WIDE = '[Ā-🙀]';
/** The size that one wide class has at least: some four milliseconds. */
const SIZE_OF_WIDE = 4000;

test('a wide range counts by its characters where case does not matter', () => {
  for (const range of [
    WIDE,
    '[^Ā-🙀]',
    '[-Ā-🙀]',
    '[--🙀]',
    '[a-bĀ-🙀]',
    '[\\-Ā-🙀]',
    '[\\x{100}-\\x{1F640}]',
    '[\\\\x{1e900}-🙀]',
    '[\\xff-🙀]',
    '[\\101-🙀]',
    '[\\n-🙀]',
    '[A-\\x{10ffff}]',
    '[\\]-🙀]',
    '[[:alpha:]Ā-🙀]',
    '\\Q[[:\\EĀ-🙀]:]',
  ])
    for (const flags of ['(?i)', '(?si)', '(?i-s)', '(?Ui:', '(?i-m:', 'x(?i)'])
      assert.ok(compileSize(`${flags}${range}`) >= SIZE_OF_WIDE, `${flags}${range}`);
});

test('other classes count as one instruction, and a class counts once, however often it is repeated', () => {
  for (const pattern of [WIDE, `(?s)${WIDE}`, `(?-i)${WIDE}`, `(?P<i>)${WIDE}`, '(?i)[a-z]', '(?i)[0-9]', '(?i)[^a]'])
    assert.ok(compileSize(pattern) <= programSize(pattern) + 2, pattern);
  assert.ok(compileSize('(?i)[一-龥]{1,50}') < 2 * compileSize('(?i)[一-龥]'));
  assert.ok(compileSize('(?i)[\\x{1f300}-\\x{1f5ff}]') < 10);
});

test('classes such as \\pL count by their tables, alone, in classes and in alternatives', () => {
  for (const one of ['\\pL|', '\\PL', '\\p{Lu}', '[\\pL]', '[^\\pL]|'])
    assert.ok(compileSize(one.repeat(100)) > 25_000, one);
});

test('patterns that take too long to compile are refused, whoever sends them', () => {
  const tooLarge = { message: 'error parsing regexp: expression too large' };
  for (const pattern of [
    `(?i)${WIDE.repeat(250)}`,
    `(?i:${`${WIDE}|`.repeat(250)})`,
    '\\pL|'.repeat(4000),
    '\\pL'.repeat(2000),
  ])
    assert.throws(() => compileRe2(pattern), tooLarge, pattern.slice(0, 20));
  for (const pattern of [WIDE.repeat(250), `(?i)^[一-龥\\w]{1,63}$`, `(?i)${WIDE}`])
    assert.doesNotThrow(() => compileRe2(pattern), pattern.slice(0, 20));
});

test('compiling counts in the work of an expression, again when the pattern is known', () => {
  for (let round = 0; round < 2; round++) {
    const meter = new Meter();
    metered(meter, () => compilePattern(`(?i)${WIDE}`));
    assert.ok(meter.work > 8 * SIZE_OF_WIDE);
  }
});

test('compiling counts in the budget of a definition', () => {
  const fits = (count: number): boolean => {
    const properties = Object.fromEntries(
      Array.from({ length: count }, (_, at) => [`p${at}`, { pattern: `(?i)${at}${WIDE}` }]),
    );
    const versions = [{ name: 'v1', schema: { openAPIV3Schema: { properties } } }];
    return validateDefinitionBudget({ spec: { versions } } as unknown as CustomResourceDefinition, Field.root());
  };
  assert.deepEqual([fits(5), fits(30)], [true, false]);
});
