import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compile } from './compile.ts';
import { createEnvironment } from './environment.ts';
import { withMutationTypes } from './mutation-types.ts';
import { DYN_TYPE } from './types/type.ts';
import { dynValue } from './values.ts';

const environment = createEnvironment({ self: DYN_TYPE });
const self = dynValue({ kind: 'a', list: ['a'], flag: true, number: 1 });

function valueOf(expression: string): unknown {
  return compile(expression, { environment }).run({ self });
}

function refusal(expression: string, from = environment): string {
  try {
    compile(expression, { environment: from });
  } catch (error) {
    return (error as Error).message;
  }
  assert.fail(`${expression} compiles`);
}

describe('operands may begin with a dot', () => {
  const expressions: Readonly<Record<string, unknown>> = {
    ".self.kind == 'a'": true,
    "  .self.kind != 'b' || .self.kind in ['b', 'c']": true,
    "'a' in .self.list": true,
    'self.list.all(x, x == .self.kind && [.self.kind].exists(y, y == x))': true,
    'has(.self.kind) && !has(.self.nothing)': true,
    'size(.self.list) + -.self.number': 0n,
    "!.self.flag ? .self.kind : (.self.kind + '.self')": 'a.self',
    "{'k': .self.kind}[.self.kind == 'a' ? 'k' : '']": 'a',
    '.size(.self.list) == .int(1)': true,
    'self.list[0]\n  . size() == 1 // (.self': true,
    '.5 + 1.5 == 2.0 && [.25, 1.0][0] == .25e0': true,
    '\'(.self, .5\' == "(.self, .5"': true,
    "self.?kind.orValue('') == .self.kind": true,
  };
  for (const [expression, value] of Object.entries(expressions))
    test(`${expression} is ${value}`, () => assert.deepEqual(valueOf(expression), value));

  test('positions of errors count the leading dot', () => {
    assert.match(
      refusal('.5 + .25 == .nope.kind'),
      /<input>:1:1[34]: undeclared reference to '.nope'.*\n \| \.5 \+ \.25 == \.nope\.kind\n/,
    );
    const literals = withMutationTypes(environment);
    assert.match(refusal('Object{a: .5, b: .nope}', literals), /<input>:1:1[89]: undeclared reference to '.nope'/);
  });

  test('macros have no absolute names, and a dot alone is no operand', () => {
    for (const expression of ['.has(self.kind)', '.', '..self', '. .self', 'self..kind', '.1.self', 'self.kind == .'])
      refusal(expression);
  });
});
