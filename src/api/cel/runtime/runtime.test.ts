// Run-time values: equality, keys, constant sets and the texts of failures are those of upstream.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compile } from '../compile.ts';
import { createEnvironment } from '../environment.ts';
import { RuntimeError } from '../texts.ts';
import { DYN_TYPE } from '../types/type.ts';
import { dynValue } from '../values.ts';
import { ConstantSet } from './constant-set.ts';
import { Duration, Timestamp, Uint } from './values.ts';
import { valueText } from './value-text.ts';

const environment = { ...createEnvironment({ self: DYN_TYPE }), hasBindings: true };

function valueOf(expression: string, self: unknown = null): unknown {
  return compile(expression, { environment }).run({ self: dynValue(self) });
}

function failure(expression: string): string {
  try {
    valueOf(expression);
  } catch (error) {
    if (error instanceof RuntimeError) return error.message;
    throw error;
  }
  assert.fail(`${expression} has a value`);
}

describe('expressions about equality, keys, sets, order and lists hold', () => {
  const holding = [
    // Identity does not make values equal: NaN differs from itself.
    'cel.bind(v, [0.0 / 0.0], v != v)',
    'cel.bind(v, {"a": 0.0 / 0.0}, v != v)',
    'cel.bind(v, [[1, 2], [3]], v == v && v == [[1, 2], [3]] && v != [[1, 2], [4]] && v != [[1, 2]])',
    // Numbers that are equal are one key, whatever their types; each type has keys of its own.
    'size({1u: 1, 1u: 2}) == 1 && {1u: 1, 1u: 2}[1u] == 2',
    'size({dyn(1): 1, dyn(1u): 2}) == 2 && {dyn(1): 1, dyn(1u): 2}[dyn(1u)] == 2',
    'dyn({1u: "a"})[1] == "a" && dyn({1: "a"})[1u] == "a" && dyn({1u: "a"})[1.0] == "a" && !(2 in dyn({1u: "a"}))',
    'dyn({1: null})[1] == null && dyn({1: null})[1.0] == null && 1u in dyn({1: null})',
    '{1u: "a"} == {1u: "a"} && dyn({1u: "a"}) == dyn({1: "a"}) && {1u: "a"} != {2u: "a"}',
    '[1, 2].transformMapEntry(i, x, {uint(x): x}) == {1u: 1, 2u: 2}',
    '[1, 2].transformMapEntry(i, x, {uint(x): x})[2u] == 2',
    '{1u: "a", 2u: "b"}.transformMap(k, v, k) == {1u: 1u, 2u: 2u}',
    '{?1u: optional.of(1), ?1u: optional.none()} == {}',
    // Constant lists are evaluated as sets.
    '1 in [1, 2] && !(3 in [1, 2]) && "a" in ["b", "a"] && true in [true] && !(false in [true])',
    'dyn(1.0) in [1] && dyn(1u) in [1] && dyn(1) in [1u] && dyn(1) in [1.0] && dyn(0.0) in [-0.0]',
    '!(dyn(1.5) in [1]) && !(dyn("1") in [1]) && !(dyn(null) in [1]) && !(dyn([1]) in [1])',
    '!(0.0 / 0.0 in [0.0, 1.0]) && !(-1 in [1]) && dyn(-1.0) in [-1]',
    // Texts are ordered as in Go.
    '"a" < "b" && "a" < "ab" && "" < "a" && "b" > "ab" && "\\U0001F600" > "\\uFFFD" && "\\U0001F600" < "\\U0001F601"',
    '"x\\U0001F600" > "x\\uFFFD" && "\\uFFFD" < "\\U0001F600a" && !("a" < "a")',
    '"\\x41bc" == "Abc" && "\\u0041bc" == "Abc" && "\\U00000041bc" == "Abc" && "\\1019" == "A9" && b"\\x41bc" == b"Abc"',
    // `flatten` flattens as many levels as its argument states.
    '[[1], [2, 3]].flatten() == [1, 2, 3] && [dyn([dyn([1])]), dyn(2)].flatten(1) == [dyn([1]), dyn(2)]',
    '[dyn([dyn([1])]), dyn(2)].flatten(2) == [1, 2] && [dyn([1])].flatten(0) == [dyn([1])] && [[]].flatten() == []',
    // Values without an order count as equal.
    '[0.0 / 0.0, 1.0].isSorted() && [1.0, 0.0 / 0.0].min() == 1.0',
    // Long texts are searched by another algorithm than short ones.
    `"${'ab'.repeat(50)}c${'ab'.repeat(50)}c".indexOf("${'ab'.repeat(40)}c") == 20`,
    `"${'ab'.repeat(50)}c${'ab'.repeat(50)}c".lastIndexOf("${'ab'.repeat(40)}c") == 121`,
    `"${'ab'.repeat(50)}c${'ab'.repeat(50)}c".lastIndexOf("${'ab'.repeat(40)}c", 120) == 20`,
    `"x${'ab'.repeat(40)}y${'ab'.repeat(40)}z".split("${'ab'.repeat(40)}") == ["x", "y", "z"]`,
    `"x${'ab'.repeat(40)}y".replace("${'ab'.repeat(40)}", "-") == "x-y"`,
    '" \\u3000a b\\n".trim() == "a b" && " ".trim() == "" && "".trim() == ""',
    '["a", "b"].join("-") == "a-b" && ["a"].join("-") == "a"',
    'double("1.") == 1.0 && double(".5e1") == 5.0 && int("-007") == -7 && int("+5") == 5 && uint("0005") == 5u',
    'duration("0000000000000000000000000001s") == duration("1s") && duration("1.5000000000000000000000000h") == duration("90m")',
    '!isSemver("1.2.18446744073709551616") && isSemver("1.2.18446744073709551615")',
    'url("/?a=1&b=2&a=3").getQuery() == {"a": ["1", "3"], "b": ["2"]}',
  ];
  for (const expression of holding) test(expression, () => assert.equal(valueOf(expression), true));
});

test('integers beyond 2^53 are members of a constant list as upstream', () => {
  const list = new ConstantSet([9007199254740993n, 2n ** 60n, 9007199254740992]);
  assert.ok(list.has(9007199254740993n) && list.has(new Uint(9007199254740993n)));
  assert.ok(list.has(9007199254740992) && list.has(9007199254740992n) && list.has(2 ** 60));
  assert.ok(!list.has(9007199254740994n) && !list.has(new Uint(2n ** 60n + 1n)) && !list.has(Number.NaN));
  assert.ok(!new ConstantSet([9007199254740993n]).has(9007199254740992n));
  assert.ok(!new ConstantSet([Number.NaN]).has(Number.NaN));
});

test('failures show values as Go prints them', () => {
  const shown: readonly (readonly [unknown, string])[] = [
    [new Map<unknown, unknown>([['a', [1n, new Uint(2n)]]]), '{a: [1, 2]}'],
    [new Duration(0n), '0s'],
    [new Duration(5_400_000_000_000n), '1h30m0s'],
    [new Duration(-61_500_000_000n), '-1m1.5s'],
    [new Duration(1_500_000n), '1.5ms'],
    [new Duration(20n), '20ns'],
    [new Timestamp(1_704_067_200_500_000_000n), '2024-01-01 00:00:00.5 +0000 UTC'],
    [new Uint8Array([1, 2]), '[1 2]'],
    [Number.POSITIVE_INFINITY, '+Inf'],
    [null, '0'],
    [true, 'true'],
  ];
  for (const [value, text] of shown) assert.equal(valueText(value), text);
  assert.equal(
    failure('{?"a": dyn({"b": [duration("1h")]})}'),
    "cannot initialize optional entry 'a' from non-optional value {b: [1h0m0s]}",
  );
  assert.equal(
    failure('[?dyn(quantity("1Gi"))]'),
    'cannot initialize optional list element from non-optional value 1Gi',
  );
  assert.equal(failure('dyn({})[optional.of(type(1))]'), 'no such key: optional(int)');
});

test("an internal error is the cause of the evaluation's error", () => {
  const program = compile('self.all(x, true)', { environment });
  const broken = {
    get self(): never {
      throw new TypeError('nothing here');
    },
  };
  assert.throws(
    () => program.run(broken),
    (error) => error instanceof RuntimeError && error.cause instanceof TypeError,
  );
});
