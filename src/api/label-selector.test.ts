import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldSelectorOf, matchesFields, parseFieldSelector } from './field-selector.ts';
import { compileLabelSelector, formatLabelSelector } from './label-selector.ts';
import { parseLabelSelector } from './label-selector-parser.ts';

test('label selector texts match labels', () => {
  const cases: readonly (readonly [string, Record<string, string>, boolean])[] = [
    ['', {}, true],
    ['a=b', { a: 'b' }, true],
    ['a==b', { a: 'c' }, false],
    ['a!=b', {}, true],
    ['a in (b,c)', { a: 'c' }, true],
    ['a notin (b)', { a: 'b' }, false],
    ['a', { a: '' }, true],
    ['!a', { a: '' }, false],
    ['a=b,c', { a: 'b' }, false],
    ['a in (b, ,c)', { a: '' }, true],
    ['a=', { a: '' }, true],
    ['n>3', { n: '4' }, true],
    ['n<3', { n: 'x' }, false],
    ['example.com/x=y , z', { 'example.com/x': 'y', z: '1' }, true],
  ];
  for (const [text, labels, want] of cases) assert.equal(parseLabelSelector(text).matches(labels), want, text);
});

test('label selector texts are formatted canonically', () => {
  assert.equal(parseLabelSelector('z,b in (y,x),!a,c!=d').toString(), '!a,b in (x,y),c!=d,z');
});

test('an empty set contains the empty text', () => {
  const selector = parseLabelSelector('a in ()');
  assert.deepEqual(
    [selector.matches({ a: '' }), selector.matches({ a: 'b' }), selector.matches({})],
    [true, false, false],
  );
  assert.equal(parseLabelSelector('a notin ()').matches({ a: 'b' }), true);
});

test("invalid label selectors have upstream's errors", () => {
  const cases: readonly (readonly [string, string])[] = [
    ['a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ['a=b,', "found '', expected: identifier after ','"],
    ['a in b', "unable to parse requirement: found 'b' expected: '('"],
    ['=b', "found '=', expected: !, identifier, or 'end of string'"],
    ['a=b c', "found 'c', expected: ',' or 'end of string'"],
  ];
  for (const [text, want] of cases) assert.throws(() => parseLabelSelector(text), { message: want }, text);
  assert.throws(() => parseLabelSelector('a=%'), /Invalid value: "%": a valid label must be/);
});

test('label selector objects match labels', () => {
  assert.equal(compileLabelSelector(undefined).matches({}), false);
  assert.equal(compileLabelSelector({}).matches({ a: 'b' }), true);
  const selector = { matchLabels: { b: '1' }, matchExpressions: [{ key: 'a', operator: 'In', values: ['y', 'x'] }] };
  assert.equal(formatLabelSelector(selector), 'a in (x,y),b=1');
  assert.equal(compileLabelSelector(selector).matches({ a: 'x', b: '1' }), true);
  assert.throws(() => compileLabelSelector({ matchExpressions: [{ key: 'a', operator: 'Is' }] }), {
    message: '"Is" is not a valid label selector operator',
  });
  assert.equal(compileLabelSelector({ matchLabels: { constructor: 'x' } }).matches({}), false);
});

test('field selectors match by equality and inequality', () => {
  const selector = parseFieldSelector('spec.nodeName=n1,status.phase!=Failed,');
  assert.equal(matchesFields(selector, { 'spec.nodeName': 'n1', 'status.phase': 'Running' }), true);
  assert.equal(matchesFields(selector, { 'spec.nodeName': 'n1', 'status.phase': 'Failed' }), false);
  assert.throws(() => parseFieldSelector('abc'), { message: "invalid selector: 'abc'; can't understand 'abc'" });
});

test("errors of field selectors are upstream's", () => {
  const cases: readonly (readonly [string, string])[] = [
    ['a=\\x', 'invalid field selector: invalid escape sequence: \\x'],
    ['a=b\\', 'invalid field selector: invalid escape sequence: \\'],
    ['a=b=c', 'invalid field selector: unescaped character in value: 61'],
    ['z=\\x,b', "invalid selector: 'z=\\x,b'; can't understand 'b'"],
  ];
  for (const [text, message] of cases) assert.throws(() => parseFieldSelector(text), { message });
  for (const everything of ['', ',', '=', '!=', '==', '=,!=']) assert.deepEqual(parseFieldSelector(everything), []);
  assert.deepEqual(parseFieldSelector('a=\\,\\=\\\\'), [{ field: 'a', operator: '=', value: ',=\\' }]);
});

test("values with the selector's own characters are escaped and matched", () => {
  for (const value of ['', 'a', 'a,b=c', '\\', 'a\\,b', '=,\\=', 'x,metadata.name!=y'])
    assert.deepEqual(parseFieldSelector(fieldSelectorOf({ 'metadata.name': value })), [
      { field: 'metadata.name', operator: '=', value },
    ]);
});
