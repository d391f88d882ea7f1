/** Selectors that are as long as an address may be: how much of them is read. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boundedFieldSelector, boundedLabelSelector, MAX_REQUIREMENTS, MAX_VALUES } from './bounded-selectors.ts';

const listOf = (count: number, text: (index: number) => string): string =>
  Array.from({ length: count }, (_, at) => text(at)).join();

for (const [what, parse, text, message] of [
  ['fields', boundedFieldSelector, listOf(MAX_REQUIREMENTS + 1, (at) => `a!=${at}`), /too many requirements/],
  ['labels', boundedLabelSelector, listOf(MAX_REQUIREMENTS + 1, (at) => `a!=${at}`), /too many requirements/],
  ['values', boundedLabelSelector, `a in (${listOf(MAX_VALUES + 1, (at) => `${at}`)}`, /too many values/],
  ['values of many lists', boundedLabelSelector, listOf(150, () => `a in (${listOf(20, String)})`), /too many values/],
  ['equal values', boundedLabelSelector, `a in (${listOf(MAX_VALUES + 1, () => 'b')}`, /too many values/],
  ['empty values', boundedLabelSelector, `a in (${','.repeat(MAX_VALUES + 1)}`, /too many values/],
] as const)
  test(`requirements behind too many ${what} are not parsed`, () => {
    assert.throws(() => parse(`${text},,=)(\\`), { message });
  });

test('as many as are allowed are read', () => {
  assert.equal(boundedFieldSelector(listOf(MAX_REQUIREMENTS, (at) => `a!=${at}`)).length, MAX_REQUIREMENTS);
  const { requirements } = boundedLabelSelector(`a in (${listOf(MAX_VALUES, String)})`);
  assert.equal(requirements[0]?.values.length, MAX_VALUES);
});

test('a text is parsed once for the authorization and the handler of a request', () => {
  assert.equal(boundedFieldSelector('metadata.name=a'), boundedFieldSelector('metadata.name=a'));
});
