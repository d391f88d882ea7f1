// The cost of matching: texts that are too long for a pattern are refused instead of matched for seconds.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { validateBySchema } from './validate.ts';

const errorsOf = (pattern: string, text: string): string[] =>
  validateBySchema({ type: 'object', properties: { a: { type: 'string', pattern } } }, { a: text }).map(
    ({ text: one }) => one.slice(-120),
  );

/** Patterns without a fast automaton of moderate size, and the longest text that each is matched with. */
const slow: readonly (readonly [string, number])[] = [
  ['^(a|b)*a(a|b){60}$', 10_000],
  ['^(a|b)*?a(a|b){600}$', 1000],
  ['^((a|b)*a(a|b){60}){3}$', 4000],
];

for (const [pattern, longest] of slow)
  test(`texts far longer than ${longest} characters are not matched with ${pattern}`, () => {
    assert.match(errorsOf(pattern, 'ab'.repeat(700_000)).join(), /characters, too many to be matched with/);
    assert.doesNotMatch(errorsOf(pattern, 'ab'.repeat(longest / 2)).join(), /too many/);
  });

test('patterns of names and of base64 are matched with texts of a hundred thousand characters', () => {
  const name = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$';
  assert.deepEqual(errorsOf(name, 'a.'.repeat(50_000) + 'a'), []);
  assert.deepEqual(errorsOf('^[A-Za-z0-9+/]*={0,2}$', 'AAAA'.repeat(50_000)), []);
});
