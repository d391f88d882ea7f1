import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compile } from './compile.ts';
import { createEnvironment } from './environment.ts';
import { CompileError, RuntimeError } from './texts.ts';
import { DYN_TYPE } from './types/type.ts';
import { dynValue, jsonValue } from './values.ts';

const environment = createEnvironment({ self: DYN_TYPE });
const self = dynValue({
  foo: { bar: 1 },
  list: [3, 1, 2],
  text: 'hello wörld',
  size: '1Gi',
  labels: { a: 'b' },
  half: 0.5,
  nothing: null,
});

function outcome(expression: string): unknown {
  try {
    return jsonValue(compile(expression, { environment }).run({ self }));
  } catch (error) {
    if (error instanceof CompileError || error instanceof RuntimeError) return error;
    throw error;
  }
}

const values: Readonly<Record<string, readonly (readonly [string, unknown])[]>> = {
  basics: [
    ['self.foo.bar == 1', true],
    ['self.half == 0.5', true],
    ['1 < 2.5', true],
    ['dyn(1) == 1.0', true],
    ['self.nothing == null', true],
    ['type(self.text) == string', true],
    ['self.labels == {"a": "b"}', true],
    ['[dyn(1), self.text][0]', 1],
    ['"a" in self.labels && !("b" in self.labels)', true],
    ['self.list.map(x, x * 2) == [6, 2, 4]', true],
    ['self.list.filter(x, x > 1).size()', 2],
    ['self.list.exists_one(x, x == 2)', true],
  ],
  has: [
    ['has(self.foo.bar) && !has(self.foo.baz)', true],
    ['has(self.nothing)', true],
    ['has(self["foo"].bar)', true],
    ['has({"a": 1}.a)', true],
  ],
  strings: [
    ['self.text.indexOf("w")', 6],
    ['self.text.lastIndexOf("l")', 9],
    ['"abc".charAt(1)', 'b'],
    ['"abc".charAt(3)', ''],
    ['"äbc".substring(1, 2)', 'b'],
    ['"Ä-X".lowerAscii()', 'Ä-x'],
    ['"a`{z@[Z".upperAscii() + "a`{z@[Z".lowerAscii()', 'A`{Z@[Za`{z@[z'],
    ['"šaz{😀".upperAscii() + "ŁAZ[😀".lowerAscii()', 'šAZ{😀Łaz[😀'],
    ['"abab".replace("a", "x", 1)', 'xbab'],
    ['"abab".replace("", "-")', '-a-b-a-b-'],
    ['"a,b,c".split(",", 2)', ['a', 'b,c']],
    ['["a", "b"].join("-")', 'a-b'],
    ['" a ".trim()', 'a'],
    ['strings.quote("a\\"b")', '"a\\"b"'],
    ['"%s %d %.2f %x %b %% %s".format(["a", 3, 1.5, 255, true, [1, "b"]])', 'a 3 1.50 ff 1 % [1, "b"]'],
    ['"é".size()', 1],
    ['string(1.5) + string(true) + string(3)', '1.5true3'],
  ],
  lists: [
    ['self.list.isSorted()', false],
    ['["a", "b"].isSorted()', true],
    ['self.list.sum()', 6],
    ['[1.5, 2.0].sum()', 3.5],
    ['self.list.min() + self.list.max()', 4],
    ['self.list.indexOf(2)', 2],
    ['[1, 2, 1].lastIndexOf(1)', 2],
    ['[[1], [2]].flatten()', [1, 2]],
    ['[1, 1, 2].distinct()', [1, 2]],
    ['[3, 1].sort()', [1, 3]],
    ['[1, 2, 3].slice(1, 2)', [2]],
    ['lists.range(3)', [0, 1, 2]],
  ],
  sets: [
    ['sets.contains([1, 2], [2])', true],
    ['sets.equivalent([1, 2, 1], [2, 1])', true],
    ['sets.intersects([1], [2])', false],
  ],
  regex: [
    ['self.text.matches("^h.*d$")', true],
    ['matches("abc", "b+")', true],
    ['"abc 123".find("[0-9]+")', '123'],
    ['"a1b2".findAll("[0-9]")', ['1', '2']],
    ['"a1b2".findAll("[0-9]", 1)', ['1']],
    [`"${'a'.repeat(60)}b".matches("^(a+)+$")`, false],
  ],
  quantity: [
    ['quantity(self.size).isGreaterThan(quantity("1Mi"))', true],
    ['quantity("1k") == quantity("1000")', true],
    ['quantity("50k").add(20).asInteger()', 50020],
    ['quantity("1.5").isInteger()', false],
    // As Go keeps them: the scale of a fraction is negative, and large binary numbers are no 64-bit ones.
    ['quantity("1000m").isInteger() || quantity("1.0").isInteger() || quantity("0.5Ki").isInteger()', false],
    ['quantity("1Ti").isInteger() && quantity("9E").isInteger() && quantity("0k").isInteger()', true],
    ['quantity("1Pi").isInteger() || quantity("1Ei").isInteger() || quantity("10E").isInteger()', false],
    ['quantity("1Ti").add(quantity("1m")).sub(quantity("1m")).isInteger()', false],
    ['quantity("0").add(quantity("1Ti")).asInteger()', 1099511627776],
    ['quantity("5").sub(2).asInteger() + quantity("-3k").add(1).asInteger()', -2996],
    ['quantity("1.5").asApproximateFloat()', 1.5],
    ['sign(quantity("1").sub(quantity("2")))', -1],
    ['isQuantity("1Gx")', false],
  ],
  network: [
    ['ip("10.0.0.1").family()', 4],
    ['isIP("::ffff:1.2.3.4") || isIP("1.2.3")', false],
    ['ip.isCanonical("2001:DB8::1")', false],
    ['ip("127.0.0.1").isLoopback() && ip("fe80::1").isLinkLocalUnicast()', true],
    ['ip("8.8.8.8").isGlobalUnicast() && !ip("255.255.255.255").isGlobalUnicast()', true],
    ['cidr("10.0.0.0/8").containsIP("10.1.1.1")', true],
    ['cidr("10.0.0.0/8").containsCIDR(cidr("10.1.0.0/16"))', true],
    ['string(cidr("10.1.2.3/8").masked())', '10.0.0.0/8'],
    ['cidr("10.1.2.3/8").prefixLength()', 8],
  ],
  url: [
    ['url("https://u@a.b:80/x%20y?q=1").getHost()', 'a.b:80'],
    ['url("https://[::1]:80/").getHostname()', '::1'],
    ['url("https://a.b:80/").getPort()', '80'],
    ['url("/path?a=1&a=2").getQuery()', { a: ['1', '2'] }],
    ['url("https://a/x y").getEscapedPath()', '/x%20y'],
    ['isURL("relative/path")', false],
  ],
  semver: [
    ['semver("1.2.3").minor()', 2],
    ['semver("1.0.0-rc.1").isLessThan(semver("1.0.0"))', true],
    ['isSemver("v1.2")', false],
    ['isSemver("v1.2", true)', true],
  ],
  format: [
    ['format.dns1123Label().validate("A").hasValue()', true],
    ['format.named("date").value().validate("2024-02-30").hasValue()', true],
    ['format.named("nope").hasValue()', false],
  ],
  'two variables': [
    ['self.labels.all(k, v, k != v)', true],
    ['self.list.exists(i, v, i == 0 && v == 3)', true],
    ['self.list.transformList(i, v, i > 0, v)', [1, 2]],
    ['self.labels.transformMap(k, v, k + v)', { a: 'ab' }],
    ['self.labels.transformMapEntry(k, v, {v: k})', { b: 'a' }],
  ],
  optionals: [
    ['self.?nope.orValue("d")', 'd'],
    ['self.?foo.?bar.optMap(v, v + 1).orValue(0)', 2],
    ['self[?"foo"].hasValue()', true],
    ['optional.none().or(optional.of(1)).value()', 1],
    ['optional.ofNonZeroValue("").hasValue() || optional.ofNonZeroValue(0).hasValue()', false],
    ['optional.ofNonZeroValue(2).value()', 2],
    ['self.list.first().value() + [1, 2].last().value()', 5],
    ['[].first().hasValue()', false],
  ],
  time: [
    ['timestamp("2024-03-01T00:00:00Z").getDayOfYear()', 60],
    ['timestamp("2024-01-01T00:00:00Z").getHours("America/New_York")', 19],
    ['timestamp("2024-01-01T00:00:00Z").getHours("+05:30")', 5],
    ['timestamp("2024-01-01T12:00:00Z").getHours("Local")', 12],
    ['string(timestamp("2024-01-01T00:00:00.120Z"))', '2024-01-01T00:00:00.12Z'],
    ['timestamp("2024-01-01T00:00:00Z") - duration("1h") < timestamp("2024-01-01T00:00:00Z")', true],
    ['string(duration("1h30m"))', '5400s'],
    ['duration("90s").getMinutes()', 1],
    ['int(timestamp(10))', 10],
  ],
};

for (const [library, table] of Object.entries(values))
  test(`library: ${library}`, () => {
    for (const [expression, wanted] of table) {
      const got = outcome(expression);
      if (got instanceof Error) assert.fail(`${expression}: ${got.message}`);
      assert.deepEqual(got, wanted, expression);
    }
  });

test('run-time errors have upstream texts', () => {
  const cases: readonly [string, string][] = [
    ['self.nope', 'no such key: nope'],
    ['self.list[9]', 'index out of bounds: 9'],
    ['1 / 0', 'division by zero'],
    ['1 % 0', 'modulus by zero'],
    ['9223372036854775807 + 1', 'integer overflow'],
    ['self.text + 1', 'no such overload'],
    ['[].min()', 'min called on empty list'],
    ['optional.none().value()', 'optional.none() dereference'],
    ['"abc".substring(9)', 'index out of range: 9'],
    ['url(self.nothing.orValue("/a")).getHost() == ""', 'no such overload: url(null_type)'],
    ['isQuantity(self.half.orValue("1"))', 'no such overload: isQuantity(double)'],
  ];
  for (const [expression, message] of cases) {
    const got = outcome(expression);
    assert.ok(got instanceof RuntimeError, expression);
    assert.equal(got.message, message, expression);
  }
});

function refused(expression: string, column: number, message: string): [string, string][] {
  return [[expression, `1:${column}: ${message}\n | ${expression}\n | ${'.'.repeat(column - 1)}^`]];
}

test('lists of several types are arguments of format', () => {
  assert.equal(outcome("'%s %d'.format(['a', 1])"), 'a 1');
});

test('compile errors are formatted as upstream formats them', () => {
  const cases: readonly [string, string][] = [
    ['x', "1:1: undeclared reference to 'x' (in container '')\n | x\n | ^"],
    ['self.nofn(1)', "1:10: undeclared reference to 'nofn' (in container '')\n | self.nofn(1)\n | .........^"],
    ['1 + "a"', "1:3: found no matching overload for '_+_' applied to '(int, string)'\n | 1 + \"a\"\n | ..^"],
    [
      '"x".startsWith(1)',
      "1:15: found no matching overload for 'startsWith' applied to 'string.(int)'\n | \"x\".startsWith(1)\n | ..............^",
    ],
    ['[1].foo', "1:4: type 'list(int)' does not support field selection\n | [1].foo\n | ...^"],
    ['b"a".json()', "1:10: undeclared reference to 'json' (in container '')\n | b\"a\".json()\n | .........^"],
    ...refused("duration('1d')", 10, 'invalid duration argument'),
    ...refused("timestamp('2020-01-01')", 11, 'invalid timestamp argument'),
    ...refused("'a'.matches('(')", 13, 'invalid matches argument'),
    ...refused("[1, 'a']", 5, "expected type 'int' but found 'string'"),
    ...refused("{'a': 1, 'b': 'c'}", 15, "expected type 'int' but found 'string'"),
    ...refused("quantity('1').sign()", 19, "found no matching overload for 'sign' applied to 'kubernetes.Quantity.()'"),
  ];
  for (const [expression, text] of cases) {
    const got = outcome(expression);
    assert.ok(got instanceof CompileError, expression);
    assert.equal(got.message, `compilation failed: ERROR: <input>:${text}`, expression);
  }
});

test('the result must have the declared return type', () => {
  assert.throws(() => compile('1', { environment, returnTypes: ['bool'] }), {
    message: 'must evaluate to bool but got int',
  });
  assert.throws(() => compile('self.foo', { environment, returnTypes: ['bool'] }), {
    message: 'must evaluate to bool but got dyn',
  });
  assert.throws(() => compile('1', { environment, returnTypes: ['string', 'null_type'] }), {
    message: 'must evaluate to one of [string null_type] but got int',
  });
});
