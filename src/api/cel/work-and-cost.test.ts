// Expressions whose work far exceeds upstream's price exceed their limit before they block the event loop for long.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compile, compileTogether } from './compile.ts';
import { createEnvironment } from './environment.ts';
import { chargeWork, Meter, PER_CALL_LIMIT } from './meter.ts';
import { type ObjectLiteral, withMutationTypes } from './mutation-types.ts';
import { CompileError, RuntimeError } from './texts.ts';
import { DYN_TYPE } from './types/type.ts';
import { dynValue, jsonValue } from './values.ts';
import { compileVariables } from './variables.ts';

const environment = { ...createEnvironment({ self: DYN_TYPE }), hasBindings: true };

/** A limit that is large enough to separate bounded from unbounded expressions, and quickly exhausted. */
const LIMIT = PER_CALL_LIMIT / 4;

function cost(expression: string, value: unknown, limit = PER_CALL_LIMIT): number | 'exceeded' {
  const meter = new Meter(limit);
  try {
    compile(expression, { environment }).run({ self: dynValue(value) }, meter);
    return meter.spent;
  } catch (error) {
    if (error instanceof RuntimeError && error.costExceeded) return 'exceeded';
    throw error;
  }
}

const many = (count: number, of: (index: number) => string): string[] => Array.from({ length: count }, (_, i) => of(i));

/** An expression about `v`, whose 30 levels each contain the next twice, and `w`, another value of the same shape. */
function doubled(about: string, shape = '[v, v]'): string {
  const levels = (name: string): string => `dyn(${shape.replaceAll('v', name)})`;
  const bound = (name: string, inner: string): string =>
    `cel.bind(${name}, dyn(1), ${`cel.bind(${name}, ${levels(name)}, `.repeat(30)}${inner}${')'.repeat(31)}`;
  return bound('v', bound('w', about));
}

const longKey = { k: 'a'.repeat(100_000), m: { ['a'.repeat(100_000)]: 1 } };

const dear: Readonly<Record<string, readonly [expression: string, value: unknown]>> = {
  'patterns made at run time': ['self.all(x, !"a".matches(x))', many(5000, (i) => `(a?){90}b${i}`)],
  'a pattern that matches the empty text everywhere': ['self.findAll("(a?){90}").size() > 0', 'ab'.repeat(30_000)],
  'a pattern that matches everywhere': ['[1, 2, 3, 4, 5].all(i, self.findAll("a").size() > 0)', 'a'.repeat(100_000)],
  'a pattern that no small automaton decides': ['self.matches("^(a|b)*a(a|b){60}$")', 'ab'.repeat(100_000)],
  'moments in named time zones': [
    'self.all(x, timestamp(x).getFullYear("America/New_York") > 1)',
    many(20_000, () => '2024-01-01T00:00:00Z'),
  ],
  'a duration of a million characters': ['duration(self) > duration("1s")', '1s'.repeat(500_001)],
  'characters of long texts': [
    '[1, 2, 3, 4, 5].all(x, [1, 2, 3, 4, 5].all(y, self.charAt(x) != ""))',
    'é'.repeat(100_000),
  ],
  'shared lists, flattened': [doubled('v.flatten(40).size() > 0'), null],
  'shared lists, compared': [doubled('v == w'), null],
  'a shared list, compared with itself': [doubled('v == v'), null],
  'shared maps, compared': [doubled('v != w', '{1: v, 2: v}'), null],
  'shared optionals, compared': [doubled('v == w', 'optional.of([v, v])'), null],
  'shared lists, sought in a list': [doubled('v in [w]'), null],
  'shared lists, priced by what is inside': [doubled('[v].indexOf(w) == 0'), null],
  'shared maps, priced by what is inside': [doubled('[v].indexOf(w) == 0', '{1: v, 2: v}'), null],
  'shared lists as text': [doubled('"%s".format([v]) == ""'), null],
  'shared maps as text': [doubled('"%s".format([v]) == ""', '{1: v, 2: v}'), null],
  'shared lists in what a failure says': [doubled('dyn({})[v] == 1'), null],
  'shared maps in what a failure says': [doubled('[?v] == []', '{1: v, 2: v}'), null],
  'bytes that double': [
    `cel.bind(v, dyn(b"0123456789"), ${'cel.bind(v, v + v, '.repeat(40)}size(v) > 0${')'.repeat(41)}`,
    null,
  ],
  'turns of constants': [
    'self.filter(a, self.filter(b, self.filter(c, false) == []) == []).size() == 0',
    many(400, String),
  ],
  'turns of many constants': [`self.all(a, ${many(2000, () => 'true').join('&&')})`, many(30_000, String)],
  'turns of many names': [`self.all(a, ${'cel.bind(b, 1, true)&&'.repeat(1000)}true)`, many(30_000, String)],
  'a long text, joined many times': ['lists.range(20000).map(i, self).join().size() > 0', 'x'.repeat(100_000)],
  'nothing, joined many times': ['self.all(x, self.join() == "")', many(20_000, () => '')],
  'a long text, formatted many times': [
    `"${'%s'.repeat(1000)}".format(self) == ""`,
    many(1000, () => 'x'.repeat(100_000)),
  ],
  'the characters of a long text, counted': ['lists.range(1000).all(i, size(self) > i)', 'x'.repeat(500_000)],
  'long texts in order': ['lists.range(1000).all(i, dyn(self) <= dyn(self + "a"))', 'x'.repeat(500_000)],
  'long texts as numbers': ['lists.range(1000).all(i, dyn(self) != int(self))', '0'.repeat(500_000)],
  'a long list of unknown type, searched': ['self.all(x, !(1 in dyn(self)))', many(20_000, String)],
  'a long list of unknown type, sorted': ['self.all(x, dyn(self).sort().size() > 0)', many(20_000, String)],
  'optional values, unwrapped': [
    'cel.bind(o, self.map(x, optional.of(x)), self.all(x, optional.unwrap(o).size() > 0))',
    many(20_000, String),
  ],
  'the parts of a query': [
    'cel.bind(u, url(self), lists.range(1000).all(i, u.getQuery().size() > 0))',
    `/?${'a&'.repeat(50_000)}`,
  ],
  'long URLs': ['[1, 2, 3].all(i, isURL(self))', `/${'%41'.repeat(100_000)}`],
  'short URLs': ['self.all(x, isURL(x))', many(15_000, (i) => `/${i}`)],
  'quotes in quotes': ['[1, 2].all(i, strings.quote(self) != "")', '"'.repeat(200_000)],
  'long versions': ['isSemver(self)', `1.2.3-${'1.'.repeat(160_000)}1`],
  'long versions that are none': ['!isSemver(self)', `${'\u0001'.repeat(320_000)}.2.3`],
  'long versions, made normal': ['isSemver(self, true)', `v1.2.3-${'1.'.repeat(160_000)}1`],
  'short versions': ['self.all(x, isSemver(x))', many(10_000, (i) => `1.2.${i}`)],
  'spaces that are trimmed': ['[1, 2].all(i, self.trim() == "")', ' '.repeat(500_000)],
  'the empty text, replaced everywhere': ['[1, 2].all(i, self.replace("", "b") != "")', 'a'.repeat(300_000)],
  'the largest of short texts': ['self.all(x, self.max() != "")', many(1000, String)],
  'the least of short texts': ['self.all(x, self.min() != "")', many(1000, String)],
  'whether short texts are sorted': ['self.all(x, self.isSorted())', many(1000, (i) => String(1000 + i))],
  'the last of short texts': ['self.all(x, self.lastIndexOf("") < 0)', many(1000, String)],
  'long texts that are no quantity': ['[1, 2].all(i, !isQuantity(self))', `${'1'.repeat(200_000)}x`],
  'long texts that are a quantity': ['[1, 2].all(i, sign(quantity(self)) == 1)', `1.${'1'.repeat(200_000)}`],
  'short quantities': ['self.all(x, isQuantity(x))', many(15_000, String)],
  addresses: ['self.all(x, isIP(x))', many(10_000, (i) => `fe80::${i}`)],
  ranges: ['self.all(x, isCIDR(x))', many(10_000, (i) => `fe80::${i}/128`)],
  'long texts as bytes': ['lists.range(1000).all(i, bytes(self).size() > 0)', 'x'.repeat(100_000)],
  'long URLs, compared': ['cel.bind(u, url(self), lists.range(1000).all(i, u == u))', `/${'a'.repeat(100_000)}`],
  'long keys of maps': ['cel.bind(m, {self: 1}, lists.range(1000).all(i, self in m))', 'a'.repeat(100_000)],
  'long keys of objects': ['lists.range(1000).all(i, "x" in self || self.k in self.m)', longKey],
  'versions of many parts, compared': [
    'cel.bind(v, semver(self), lists.range(100).all(i, v.compareTo(v) == 0))',
    `1.2.3-${'1.'.repeat(20_000)}1`,
  ],
  'doubles, formatted': ['self.all(x, "%.100f".format([1e300]) != "")', many(10_000, String)],
  'doubles as exponents, formatted': ['self.all(x, "%e".format([1.5]) != "")', many(10_000, String)],
  'moments in a list, formatted': ['self.all(x, "%s".format([[timestamp(0)]]) != "")', many(10_000, String)],
  'calls that fail': ['self.all(x, bool(x) || true)', many(10_000, String)],
  'operators that fail': ['self.all(x, dyn(x) + 1 == 1 || true)', many(10_000, String)],
  'kinds of addresses': ['cel.bind(a, ip("fe80::1"), self.all(x, !a.isGlobalUnicast()))', many(10_000, String)],
  'texts of addresses': ['cel.bind(a, ip("fe80::1"), self.all(x, string(a) != ""))', many(20_000, String)],
  'addresses in ranges': ['cel.bind(c, cidr("fe80::/64"), self.all(x, c.containsIP("fe80::1")))', many(10_000, String)],
  'short moments': [
    'self.all(x, timestamp(x) < timestamp("2025-01-01T00:00:00Z"))',
    many(10_000, () => '2024-01-01T00:00:00Z'),
  ],
  'parts of moments': ['cel.bind(t, timestamp(0), self.all(x, t.getFullYear() == 1970))', many(20_000, String)],
  'matches in short texts': ['self.all(x, x.findAll("[0-9]").size() > 0)', many(10_000, String)],
  'bytes of unknown type as text': [
    'cel.bind(b, dyn(bytes(self)), lists.range(1000).all(i, string(b) != ""))',
    'x'.repeat(100_000),
  ],
};

for (const [name, [expression, value]] of Object.entries(dear))
  test(`it costs more than the limit: ${name}`, () => assert.equal(cost(expression, value, LIMIT), 'exceeded'));

test('fields of objects cost little', () => {
  const texts = many(1000, (i) => `label-${i}`);
  const cheapFor: Readonly<Record<string, readonly string[]>> = {
    'isURL(x)': texts.map((text) => `https://example.com/${text}`),
    'isSemver(x)': many(1000, (i) => `1.2.${i}-rc.1`),
    'isQuantity(x)': many(1000, (i) => `${i}Mi`),
    'isIP(x)': many(1000, (i) => `fe80::${i}`),
    'isCIDR(x)': many(1000, (i) => `fe80::${i}/128`),
    'x.upperAscii() != x && x.lowerAscii() == x': texts,
    'strings.quote(x) != x.trim()': texts,
  };
  for (const [expression, value] of Object.entries(cheapFor))
    assert.ok(Number(cost(`self.all(x, ${expression})`, value)) < PER_CALL_LIMIT / 10, expression);
});

test('matching names and labels costs about what it costs upstream', () => {
  const labels = many(1000, (i) => `label-${i}`);
  assert.ok(Number(cost('self.all(x, x.matches("^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"))', labels)) < 60_000);
  assert.ok(Number(cost('self.all(x, x.find("[a-z]+") != "")', labels)) < 60_000);
});

/** Each is linear in its size; earlier versions were quadratic or worse. */
const cheap: Readonly<Record<string, readonly [expression: string, value: unknown]>> = {
  'spaces inside a text': ['self.trim() == self', `a${' '.repeat(500_000)}a`],
  'digits that are no double': ['[self].all(x, [double(x)].size() == 1) || true', `${'1'.repeat(500_000)}x`],
  'digits that are no int': ['[self].all(x, int(x) == 1) || true', '9'.repeat(1_000_000)],
  'digits that are no version': ['isSemver(self) == false', `1.2.${'3'.repeat(1_000_000)}`],
  'the last of a long text that repeats itself': [
    'self[0].lastIndexOf(self[1]) == -1',
    ['a'.repeat(400_000), `${'a'.repeat(200_000)}b`],
  ],
  'the first of a long text that repeats itself': [
    'self[0].indexOf(self[1]) == -1 && self[0].split(self[1]).size() == 1 && self[0].replace(self[1], "") == self[0]',
    ['a'.repeat(400_000), `${'a'.repeat(50_000)}b${'a'.repeat(50_000)}`],
  ],
  'values of one key of a query': ['url(self).getQuery()["a"].size() == 50000', `/?${'a&'.repeat(50_000)}`],
  'members of a large constant list': [
    `self.all(x, x in [${many(10_000, (i) => `"${i}"`).join()}])`,
    many(20_000, (i) => String(i % 10_000)),
  ],
  'numeric keys that a map does not have': [
    'cel.bind(m, lists.range(15000).transformMapEntry(i, x, {uint(x): x}), lists.range(15000).all(i, !(dyn(-i - 1) in m)))',
    null,
  ],
  'numeric keys of a map in the making': [
    'lists.range(15000).transformMapEntry(i, x, {uint(x): x}).size() == 15000',
    null,
  ],
};

for (const [name, [expression, value]] of Object.entries(cheap))
  test(`it costs less than the limit: ${name}`, () => assert.notEqual(cost(expression, value), 'exceeded'));

test('a variable may use all the budget that is left for the expression that reads it', () => {
  const turns = 'lists.range(50000).all(i, true)';
  const names = many(100, (i) => `v${i}`);
  const variables = names.map((name, i) => ({
    name,
    expression: i === 0 ? turns : `${turns} && variables.${names[i - 1]}`,
  }));
  const { declareIn, bind, errors } = compileVariables(variables, environment);
  assert.equal(errors.size, 0);
  const program = compile(`variables.${names.at(-1)}`, { environment: declareIn(environment) });
  const meter = new Meter();
  assert.throws(() => program.run({ variables: bind({}) }, meter), RuntimeError);
  assert.ok(meter.cost < 2 * PER_CALL_LIMIT, String(meter.cost));
});

test('conversion of a value outside an evaluation is limited too', () => {
  const mutation = withMutationTypes(environment);
  const object = `Object{a: [${doubled('v')}]}`;
  const made = compile(object, { environment: mutation }).run({}) as ObjectLiteral;
  assert.throws(() => jsonValue(made), RuntimeError);
  assert.throws(() => made.checkPlace(), RuntimeError);
  const type = compile('[type(1)]', { environment }).run({});
  assert.throws(() => jsonValue(type), RuntimeError);
});

test('hostile expressions are refused when they are compiled, or compile with little work', () => {
  const hostile: Readonly<Record<string, readonly [expression: string, refused: RegExp | undefined]>> = {
    'a chain of loops': [`[1]${'.map(x, 1)'.repeat(3000)} == []`, /max recursion depth exceeded/],
    'loops in loops': ['self.all(x, '.repeat(300) + 'true' + ')'.repeat(300), /recursion limit exceeded: 250/],
    'copies of copies': [`optional.of(1)${'.optMap(x, x)'.repeat(40)}.hasValue()`, /more than 10000 nodes/],
    'flat copies of copies': [
      `optional.of(1)${'.optFlatMap(x, [x][?0])'.repeat(40)}.hasValue()`,
      /more than 10000 nodes/,
    ],
    'types that double': [`[1]${'.map(x, {x: x})'.repeat(100)} == []`, undefined],
    'types with parameters that double': [`[[]]${'.map(x, {"": [x, x]})'.repeat(100)} == []`, undefined],
    'texts of types that double': [
      `[1]${'.map(x, {x: x})'.repeat(60)}.all(v, v + 1 == 1)`,
      /found no matching overload/,
    ],
    'lists of unknown types': [`[${many(8000, () => '[]').join()}].size() > 0`, undefined],
    'calls with type parameters': [many(2500, () => '[]+[]==[]').join('&&'), undefined],
    'operators in a row': [many(5000, () => 'true').join('||'), undefined],
    'many tokens': [`[${many(40_000, () => '1').join()}] == []`, /takes too much work/],
    'a long text': [`self != "${'a'.repeat(99_000)}"`, undefined],
    'large patterns': [many(2000, (i) => `"a".matches("(abcdefg${i}){1000}")`).join('&&'), /takes too much work/],
  };
  for (const [name, [expression, refused]] of Object.entries(hostile))
    if (refused === undefined) compile(expression, { environment });
    else
      assert.throws(() => compile(expression, { environment }), { constructor: CompileError, message: refused }, name);
});

test('expressions nested beyond the stack are refused', () => {
  const nested = `${'[!cel.bind(a, !('.repeat(120)}true${'), a)]==[]'.repeat(120)}`;
  const deep = (frames: number): unknown => (frames === 0 ? compile(nested, { environment }) : [deep(frames - 1)]);
  const outcome = (frames: number): string => {
    try {
      deep(frames);
      return 'compiled';
    } catch (error) {
      return (error as Error).message;
    }
  };
  const outcomes = new Set(many(60, (i) => outcome(i * 150)));
  assert.ok(outcomes.has('compilation failed: ERROR: <input>:-1:0: nested too deeply'), [...outcomes].join());
});

test('expressions compiled together share a limit', () => {
  const refused = (): boolean => {
    try {
      compile('"a".matches("(together){100}")', { environment });
      return false;
    } catch (error) {
      return error instanceof CompileError && error.message.includes('takes too much work');
    }
  };
  compileTogether(() => {
    assert.equal(refused(), false);
    chargeWork(9_990_000);
    assert.equal(refused(), true);
  });
  assert.equal(refused(), false);
});
