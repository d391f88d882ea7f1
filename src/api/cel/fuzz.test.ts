// Malformed and hostile expressions: compiling and running any input ends with a value or one of our errors, within the meter's
// limit. The number of inputs is fixed, and they derive from a seed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSeededRandom } from '../../platform/sim/random.ts';
import { compile } from './compile.ts';
import { createEnvironment } from './environment.ts';
import { Meter } from './meter.ts';
import { CompileError, RuntimeError } from './texts.ts';
import { withMutationTypes } from './mutation-types.ts';
import { DYN_TYPE } from './types/type.ts';
import { dynValue } from './values.ts';

const environment = {
  ...withMutationTypes(createEnvironment({ self: DYN_TYPE, object: DYN_TYPE })),
  hasBindings: true,
};
const self = dynValue({ a: 1, b: [1, 2, 3], c: { d: 'text' }, e: null, f: 1.5, g: 'x'.repeat(200) });

/** Runs one input and returns how it ended. Throws errors that no expression may cause. */
function outcome(expression: string): 'value' | 'compile' | 'runtime' {
  try {
    const program = compile(expression, { environment });
    program.run({ self, object: self }, new Meter(20_000));
    return 'value';
  } catch (error) {
    if (error instanceof CompileError) return 'compile';
    if (error instanceof RuntimeError && !/^internal error: (?!Maximum call stack)/.test(error.message))
      return 'runtime';
    throw new Error(`${JSON.stringify(expression.slice(0, 200))}: ${String(error)}`, { cause: error });
  }
}

const leaves =
  'self object self.a self.b self.c.d self.e self.f self.g self.nope x 1 0 -1 2u 1.5 "x" "" b"z" true false null [] {} 9223372036854775807 "1Gi" "10.0.0.1" "2024-01-01T00:00:00Z" "1h" "^a+$"'.split(
    ' ',
  );
const shapes = [
  '_ + _|_ - _|_ * _|_ / _|_ % _|_ == _|_ < _|_ && _|_ || _|!_|-_|_ in _|_ ? _ : _|(_)|[_, _]|{_: _}|_[_]|_.a|_.?a|_[?_]|has(_.a)',
  '_.all(x, _)|_.map(x, _)|_.filter(x, _)|_.exists_one(x, _)|_.exists(i, x, _)|_.transformMap(i, x, _)|_.transformList(i, x, _, _)',
  'size(_)|int(_)|uint(_)|double(_)|string(_)|bytes(_)|dyn(_)|type(_)|timestamp(_)|duration(_)|quantity(_)|ip(_)|cidr(_)|url(_)|semver(_)',
  '_.matches(_)|_.find(_)|_.findAll(_, _)|_.split(_)|_.join(_)|_.format([_])|_.replace(_, _, _)|_.substring(_, _)|_.indexOf(_)|_.charAt(_)',
  '_.sum()|_.min()|_.isSorted()|_.sort()|_.flatten()|_.distinct()|_.slice(_, _)|_.reverse()|lists.range(_)|sets.contains(_, _)',
  '_.getHours(_)|_.getDate()|_.getMilliseconds()|_.isGreaterThan(_)|_.add(_)|_.family()|_.containsIP(_)|_.getQuery()|_.major()',
  '_.orValue(_)|_.value()|_.hasValue()|optional.of(_)|_.optMap(x, _)|cel.bind(x, _, _)|Object{a: _}|JSONPatch{op: _}|format.named(_)',
].flatMap((line) => line.split('|'));

test('random expressions never crash', () => {
  const random = createSeededRandom(7);
  const make = (depth: number): string =>
    depth === 0 || random.int(4) === 0
      ? leaves[random.int(leaves.length)]!
      : shapes[random.int(shapes.length)]!.replaceAll('_', () => make(depth - 1));
  const counts = { value: 0, compile: 0, runtime: 0 };
  for (let input = 0; input < 20_000; input++) counts[outcome(make(1 + (input % 4)))]++;
  assert.ok(counts.value > 500 && counts.runtime > 500 && counts.compile > 500, JSON.stringify(counts));
});

test('random changes of valid expressions never crash', () => {
  const random = createSeededRandom(11);
  const sound = [
    'self.b.all(x, x > 0 && self.c.d.matches("^t.*$")) || has(self.nope)',
    'Object{spec: Object.spec{list: [Object.spec.list{name: self.c.d}], ?more: self.?a}}',
    '"%s-%d".format([self.c.d, self.a]).split("-").map(p, p.size()).sum() == 5',
    'cel.bind(q, quantity("1Gi"), q.add(1).isGreaterThan(q) ? [JSONPatch{op: "add", path: "/a"}] : [])',
    'timestamp("2024-01-01T00:00:00Z") + duration("1h") > timestamp("2023-01-01T00:00:00Z")',
  ];
  const counts = { value: 0, compile: 0, runtime: 0 };
  for (let input = 0; input < 20_000; input++) {
    let text = sound[input % sound.length]!;
    for (let change = random.int(3); change >= 0; change--) {
      const at = random.int(text.length + 1);
      const kind = random.int(3);
      const inserted = kind === 0 ? '' : String.fromCharCode(32 + random.int(95));
      text = text.slice(0, at) + inserted + text.slice(kind === 1 ? at : at + 1);
    }
    counts[outcome(text)]++;
  }
  assert.ok(counts.value > 50 && counts.compile > 1000, JSON.stringify(counts));
});

test('deeply nested and exponential expressions end', () => {
  const bomb = Array.from({ length: 40 }, (_, index) => `cel.bind(v${index}, v${index - 1} + v${index - 1}, `).join('');
  const hostile: readonly [string, string][] = [
    ['deep parentheses', '('.repeat(50_000) + '1' + ')'.repeat(50_000)],
    ['deep negation', '!'.repeat(50_000) + 'true'],
    ['a long chain', '1' + '+1'.repeat(15_000)],
    ['a long selection', 'self' + '.a'.repeat(15_000)],
    ['nested lists', '['.repeat(20_000)],
    ['nested literals', 'Object{a: '.repeat(5_000)],
    ['too long', 'x'.repeat(100_001)],
    ['unterminated', '"'.repeat(50_001)],
    ['growing texts', `cel.bind(v0, self.g, ${bomb.slice(bomb.indexOf('cel.bind(v1'))} v39${')'.repeat(40)}`],
    ['growing lists', `cel.bind(v0, self.b, ${bomb.slice(bomb.indexOf('cel.bind(v1'))} v39${')'.repeat(40)}`],
    ['growing by replacement', '"a".replace("a", self.g)'.repeat(1) + '.replace("x", self.g)'.repeat(6)],
    ['nested loops', 'lists.range(1000).all(a, lists.range(1000).all(b, lists.range(1000).all(c, a + b + c >= 0)))'],
    ['a huge range', 'lists.range(9223372036854775807).size() > 0'],
    ['a hostile pattern', 'self.g.matches("(x+x+)+y")'],
    ['a large pattern', 'self.g.matches("((x{100}){100}){100}")'],
    ['a huge precision', '"%.999999999f".format([1.5])'],
    ['a huge quantity', 'sign(quantity("1e999999999")) == 1'],
  ];
  for (const [name, expression] of hostile)
    assert.ok(['value', 'compile', 'runtime'].includes(outcome(expression)), name);
});
