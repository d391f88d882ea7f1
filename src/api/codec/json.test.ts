import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJson, startOfJson, stringifyJson } from './json.ts';
import { canonicalQuantity } from '../quantity.ts';
import { formatMoment, parseMoment } from './time-text.ts';

test('documents that JSON.parse reads have the same value', () => {
  for (const text of ['{"a":{"b":[1,2.5,"x\\"y",null,true]}}', '"\\u00e9"', '-0.5e3', '[]', '{}', ' {"a" : 1 } ']) {
    assert.deepEqual(parseJson(text), { value: JSON.parse(text) as unknown, duplicates: [] });
  }
});

test('integers beyond 2^53 survive a round trip', () => {
  const text = '{"a":9007199254740993,"b":[-9223372036854775808],"c":12345678901234567.5}';
  const { value } = parseJson(text);
  assert.equal((value as { a: unknown }).a, 9007199254740993n);
  assert.equal(stringifyJson(value), text.replace('12345678901234567.5', '12345678901234568'));
});

test('duplicate keys are reported with their paths, and the last wins', () => {
  const cases: [string, string[]][] = [
    ['{"a":1,"a":2}', ['a']],
    ['{"spec":{"c":[{"n":1},{"n":1,"n":{"x":1}}]}}', ['spec.c[1].n']],
    ['{"a\\\\":1,"a\\\\":2}', ['a\\\\']],
    ['{"a\\u0001":1,"a\\u0001":2}', ['a\\x01']],
    ['{"a":"{\\"b\\":1,\\"b\\":2}"}', []],
  ];
  for (const [text, duplicates] of cases) {
    assert.deepEqual(
      parseJson(text).duplicates,
      duplicates.map((path) => `duplicate field "${path}"`),
      text,
    );
  }
  assert.deepEqual(parseJson('{"a":1,"a":2}').value, { a: 2 });
});

test('__proto__ is an ordinary key', () => {
  for (const text of ['{"__proto__":{"x":1}}', '{"n":12345678901234567890,"__proto__":{"x":1}}']) {
    const value = parseJson(text).value as object;
    assert.equal(Object.getPrototypeOf(value), Object.prototype);
    assert.ok(Object.hasOwn(value, '__proto__'));
    assert.equal(stringifyJson(value), text);
  }
});

test("syntax errors have upstream's texts", () => {
  const cases: [string, string][] = [
    ['', 'unexpected end of JSON input'],
    ['{"a"', 'unexpected end of JSON input'],
    ['x', "invalid character 'x' looking for beginning of value"],
    ['{a:1}', "invalid character 'a' looking for beginning of object key string"],
    ['{"a" 1}', "invalid character '1' after object key"],
    ['{"a":1 "b"}', "invalid character '\"' after object key:value pair"],
    ['[1 2]', "invalid character '2' after array element"],
    ['{} {}', "invalid character '{' after top-level value"],
    ['[tru]', "invalid character ']' in literal true (expecting 'e')"],
    ['"\\x"', "invalid character 'x' in string escape code"],
  ];
  for (const [text, message] of cases) assert.throws(() => parseJson(text), { name: 'JsonSyntaxError', message }, text);
});

test('nesting beyond the limit is an error, not an overflow of the stack', () => {
  const deep = (n: number): string => '['.repeat(n) + ']'.repeat(n);
  assert.throws(() => parseJson(deep(100_000)), { message: 'exceeded max depth' });
  assert.throws(() => parseJson(`[1234567890123456,${deep(100_000)}]`), { message: 'exceeded max depth' });
  assert.ok(parseJson(deep(900)).value);
});

test('quantities are made canonical', () => {
  const cases: [string, string | undefined][] = [
    ['0', '0'],
    ['1', '1'],
    ['0.5', '500m'],
    ['1000m', '1'],
    ['1500m', '1500m'],
    ['1024Mi', '1Gi'],
    ['1.5Gi', '1536Mi'],
    ['1000', '1k'],
    ['1e3', '1e3'],
    ['100Ki', '100Ki'],
    ['0.5Ki', '512'],
    ['1000Ki', '1000Ki'],
    ['-1', '-1'],
    ['+5', '5'],
    ['0.0000000001', '1n'],
    ['5n', '5n'],
    ['1E', '1E'],
    ['1Ei', '1Ei'],
    ['100Ei', '9223372036854775807'],
    ['', undefined],
    ['x', undefined],
    ['1.2.3', undefined],
    ['1 Gi', undefined],
    ['.', undefined],
    ['.5', '500m'],
    ['5.', '5'],
    ['1.5Mi', '1536Ki'],
    ['2e-3', '2e-3'],
    ['-0', '0'],
  ];
  for (const [text, want] of cases) assert.equal(canonicalQuantity(text), want, text);
});

test('timestamps are parsed and formatted', () => {
  const cases: [string, string | undefined][] = [
    ['2020-02-29T12:34:56Z', '2020-02-29T12:34:56Z'],
    ['2020-02-29T23:34:56.789+02:00', '2020-02-29T21:34:56Z'],
    ['1969-12-31T23:59:59Z', '1969-12-31T23:59:59Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00Z'],
    ['2019-02-29T00:00:00Z', undefined],
    ['2020-13-01T00:00:00Z', undefined],
    ['2020-01-01', undefined],
  ];
  for (const [text, want] of cases) {
    const moment = parseMoment(text);
    assert.equal(moment === undefined ? undefined : formatMoment(moment, 0), want, text);
  }
  assert.deepEqual(parseMoment('1970-01-01T00:00:01.000002Z'), { seconds: 1, nanos: 2000 });
  assert.equal(formatMoment({ seconds: 1, nanos: 2000 }, 6), '1970-01-01T00:00:01.000002Z');
});

test('startOfJson returns the start of the whole text, and does no more work than that', () => {
  const values = [
    null,
    5,
    2n ** 60n,
    'a"\u2028',
    [],
    {},
    [1, undefined, [2n]],
    { a: { b: [{}, 'x'] }, c: undefined, d: true },
  ];
  for (const value of values) {
    const whole = stringifyJson(value);
    assert.equal(startOfJson(value, 1000), whole);
    for (let length = 0; length < whole.length; length++) {
      const start = startOfJson(value, length);
      assert.ok(start.length >= length);
      assert.equal(start.slice(0, length), whole.slice(0, length));
    }
  }
  let reads = 0;
  const large = Array.from({ length: 1000 }, (_, i) => ({ i }));
  const get = (target: object[], name: string | symbol): unknown => {
    reads++;
    return Reflect.get(target, name) as unknown;
  };
  startOfJson(new Proxy(large, { get }), 100);
  assert.ok(reads < 100, String(reads));
});
