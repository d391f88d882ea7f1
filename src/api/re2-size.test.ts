import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileRe2 } from './re2-pattern.ts';
import { programSize } from './re2-size.ts';

test('the size of a program is estimated by its repetitions', () => {
  const sizes: Readonly<Record<string, readonly [number, number]>> = {
    '': [0, 0],
    '^[a-z]([-a-z0-9]*[a-z0-9])?$': [5, 12],
    'a{1000}': [1000, 1000],
    'a{2,1000}': [1000, 1000],
    '(ab){500}': [1000, 2500],
    '((a{10}){10}){10}': [1000, 3000],
    '[]{5}a]{100}': [100, 101],
    '[[:alpha:]{3}]{100}': [100, 101],
    '\\({100}': [100, 101],
    'a{x}': [4, 4],
    'a{,5}': [5, 5],
  };
  for (const [pattern, [low, high]] of Object.entries(sizes)) {
    const size = programSize(pattern);
    assert.ok(size >= low && size <= high, `${pattern}: ${size}`);
  }
});

test("patterns whose programs are too large are refused with Go's error", () => {
  assert.equal(programSize('[\\pL\\P{N}x]{100}a', 16), 3101);
  for (const pattern of [
    '\\pL{1000}'.repeat(19),
    '[^\\pL\\p{Greek}]{1000}'.repeat(9),
    'a{1000}'.repeat(100),
    `(${'a'.repeat(100)}){1000}`,
    `(${'a{10}'.repeat(50)}){100}`,
  ])
    assert.throws(() => compileRe2(pattern), { message: 'error parsing regexp: expression too large' });
  for (const pattern of [
    '^[a-z]{0,1000}$',
    '^[\\p{L}\\p{N}_-]{1,1000}$',
    '^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\\.){1,16}$',
    '(a|b|c){1,1000}',
  ])
    assert.doesNotThrow(() => compileRe2(pattern));
});
