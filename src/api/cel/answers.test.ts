import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ANSWERS } from './answers-fixture.ts';
import { compile } from './compile.ts';
import { estimateCost } from './cost/estimate.ts';
import { createEnvironment } from './environment.ts';
import { Meter } from './meter.ts';
import { formatTimestamp } from './runtime/times.ts';
import {
  Duration,
  isMapValue,
  mapEntries,
  Optional,
  Timestamp,
  TYPE_NAME,
  type CelObject,
  Uint,
} from './runtime/values.ts';
import { CompileError, RuntimeError } from './texts.ts';
import {
  BOOL_TYPE,
  BYTES_TYPE,
  DOUBLE_TYPE,
  DYN_TYPE,
  INT_TYPE,
  listOf,
  mapOf,
  STRING_TYPE,
  TIMESTAMP_TYPE,
  Type,
  UINT_TYPE,
} from './types/type.ts';
import { dynValue } from './values.ts';

const environment = createEnvironment({
  self: DYN_TYPE,
  s: STRING_TYPE,
  i: INT_TYPE,
  u: UINT_TYPE,
  d: DOUBLE_TYPE,
  b: BOOL_TYPE,
  by: BYTES_TYPE,
  li: listOf(INT_TYPE),
  ls: listOf(STRING_TYPE),
  ll: listOf(listOf(INT_TYPE)),
  ld: listOf(DYN_TYPE),
  m: mapOf(STRING_TYPE, INT_TYPE),
  ts: TIMESTAMP_TYPE,
});

const objects = [
  { name: 'x', n: 1 },
  { name: 'y', n: 2 },
];
const activation = {
  self: dynValue({ foo: { bar: 1 }, list: [3, 1, 2], text: 'hello wörld', objs: objects }),
  s: 'hello wörld',
  i: 5n,
  u: new Uint(7n),
  d: 2.5,
  b: true,
  by: new Uint8Array(Buffer.from('bytes')),
  li: [3n, 1n, 2n],
  ls: ['b', 'a', 'b'],
  ll: [[1n], [2n, 3n]],
  ld: [1n, 'a', true],
  m: dynValue({ a: 1, b: 2 }),
  ts: new Timestamp(1_709_634_030_123_456_789n),
};

function shown(value: unknown): string {
  if (typeof value === 'number') return `double ${value}`;
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value !== 'object' || value === null) return String(value);
  if (value instanceof Uint) return `${value.value}u`;
  if (value instanceof Uint8Array) return `b:${Buffer.from(value).toString('hex')}`;
  if (value instanceof Duration) return `duration ${value.nanos}`;
  if (value instanceof Timestamp) return `timestamp ${formatTimestamp(value)}`;
  if (value instanceof Optional) return value.hasValue ? `optional(${shown(value.content)})` : 'none';
  if (value instanceof Type) return `type ${value.name}`;
  if (Array.isArray(value)) return `[${value.map(shown).join(', ')}]`;
  if (!isMapValue(value)) return `opaque ${(value as CelObject)[TYPE_NAME]}`;
  const entries = [...mapEntries(value)].map(([key, item]) => `${shown(key)}: ${shown(item)}`);
  return `{${entries.toSorted().join(', ')}}`;
}

const OPERAND =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

function refusal({ message }: CompileError): string {
  if (message.startsWith('program instantiation failed: '))
    return message.replace('program instantiation failed', '! program');
  const issues = [...message.matchAll(/ERROR: <input>:(-?\d+:\d+): ([^\n]*)/g)];
  return issues
    .map(([, place, text]) => `${place} ${text}`)
    .join('; ')
    .replaceAll(OPERAND, '<operand>');
}

function answer(expression: string): string {
  try {
    const program = compile(expression, { environment });
    const { max } = estimateCost(program.tree, () => undefined);
    const meter = new Meter();
    const outcome = run(() => program.run(activation, meter));
    return `${max > 1e14 ? 'most' : max} ${meter.cost} ${outcome}`;
  } catch (error) {
    if (error instanceof CompileError) return refusal(error);
    throw error;
  }
}

function run(evaluate: () => unknown): string {
  try {
    return `= ${shown(evaluate())}`;
  } catch (error) {
    if (error instanceof RuntimeError) return `! ${error.message}`;
    throw error;
  }
}

test('compile errors, estimates, costs and results are those of upstream', () => {
  assert.deepEqual(
    ANSWERS.map(([expression]) => [expression, answer(expression)]),
    ANSWERS,
  );
});

test('expressions nested too deep are refused as upstream does, and no tree overflows the stack of the checker', () => {
  const nested = (count: number): string => '('.repeat(count) + '1' + ')'.repeat(count);
  assert.match(answer(nested(249)), /= 1$/);
  assert.match(answer(nested(250)), /^-1:0 expression recursion limit exceeded: 250$/);
  assert.match(answer('1' + '+1'.repeat(250)), /= 251$/);
  assert.match(answer('1' + '+1'.repeat(251)), /^-1:0 max recursion depth exceeded$/);
  assert.match(
    answer(`${'('.repeat(100)}1${`${'+1'.repeat(100)})`.repeat(100)}`),
    /^-1:0 max recursion depth exceeded$/,
  );
});
