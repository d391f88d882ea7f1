/**
 * Refuses well-typed expressions that cannot evaluate: literals that are no duration, time or pattern, formats that do not fit
 * their arguments, and lists and maps of mixed types. Upstream: cel-go cel/validator.go and ext/formatting.go.
 */
import { type Call, childrenOf, type Expr, type ListExpr, type MapExpr, walk } from '../language/expr.ts';
import type { Issue } from '../language/source.ts';
import { CLAUSE_PROBLEMS, parseFormat } from '../libraries/format-clauses.ts';
import { compilePattern } from '../libraries/regex.ts';
import { durationOf, timestampFrom, timestampOf } from '../runtime/times.ts';
import { FunctionError } from '../runtime/values.ts';
import { isOptionalType, type Type } from './type.ts';
import { reportMismatch } from './mismatch.ts';

/** Returns the issues of malformed literals and formats and of lists and maps of mixed types. */
export function validateTree(root: Expr): Issue[] {
  const issues: Issue[] = [];
  walk(root, (expr) => {
    if (expr.kind !== 'call') return;
    checkLiteral(expr, issues);
    if (expr.name === 'format') checkFormat(expr, issues);
  });
  checkAggregates(root, issues);
  return issues;
}

const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  duration: durationOf,
  timestamp: timestampOf,
  matches: compilePattern,
};

function checkLiteral({ name, args }: Call, issues: Issue[]): void {
  const read = Object.hasOwn(READERS, name) ? READERS[name] : undefined;
  const [literal] = args;
  if (read === undefined || literal?.kind !== 'literal') return;
  try {
    if (typeof literal.value === 'string') read(literal.value);
    else if (typeof literal.value === 'bigint') readInt(name, literal.value);
  } catch (error) {
    if (!(error instanceof FunctionError)) throw error;
    issues.push({ at: literal.at, message: `invalid ${name} argument` });
  }
}

/** Upstream declares durations from integers but does not convert them. */
function readInt(name: string, value: bigint): void {
  if (name === 'duration') throw new FunctionError('no duration');
  if (name === 'timestamp') timestampFrom(value * 1_000_000_000n);
}

/** Lists of mixed types are refused, except the arguments of `format`. */
function checkAggregates(root: Expr, issues: Issue[]): void {
  const waiting = [root];
  for (let expr = waiting.pop(); expr !== undefined; expr = waiting.pop()) {
    if (expr.kind === 'call' && expr.name === 'format') continue;
    if (expr.kind === 'list') checkItems(expr, issues);
    if (expr.kind === 'map') checkEntries(expr, issues);
    for (const child of childrenOf(expr).toReversed()) waiting.push(child);
  }
}

function checkItems({ items, optional }: ListExpr, issues: Issue[]): void {
  let wanted: Type | undefined;
  for (const [index, item] of items.entries()) {
    const type = unwrapped(item, optional.has(index));
    wanted ??= type;
    if (wanted.equals(type)) continue;
    reportMismatch(issues, item.at, [wanted, type]);
    return;
  }
}

function checkEntries({ entries }: MapExpr, issues: Issue[]): void {
  const [first] = entries;
  if (first === undefined) return;
  const [keyType, valueType] = [first.key.type!, unwrapped(first.value, first.optional)];
  for (const { key, value, optional } of entries) {
    if (!keyType.equals(key.type!)) reportMismatch(issues, key.at, [keyType, key.type!]);
    const type = unwrapped(value, optional);
    if (!valueType.equals(type)) reportMismatch(issues, value.at, [valueType, type]);
  }
}

function unwrapped({ type }: Expr, optional: boolean): Type {
  return optional && isOptionalType(type!) ? type!.params[0]! : type!;
}

/** The types that a verb accepts, besides dyn. */
const TAKEN: Readonly<Record<string, readonly string[]>> = {
  s: ['list', 'map', 'int', 'uint', 'double', 'bool', 'string', 'timestamp', 'bytes', 'duration', 'type', 'null'],
  d: ['int', 'uint'],
  f: ['double', 'string'],
  e: ['double', 'string'],
  b: ['int', 'uint', 'bool'],
  o: ['int', 'uint'],
  x: ['int', 'uint', 'string', 'bytes'],
  X: ['int', 'uint', 'string', 'bytes'],
};

class ArgumentError extends FunctionError {
  readonly at: number;

  constructor(at: number, message: string) {
    super(message);
    this.at = at;
  }
}

function checkFormat({ at, target, args }: Call, issues: Issue[]): void {
  const [list] = args;
  if (target?.kind !== 'literal' || typeof target.value !== 'string' || list?.kind !== 'list') return;
  const { items } = list;
  let next = 0;
  try {
    parseFormat(
      target.value,
      ({ verb = '' }) => {
        const bad = misfitOf(items[next++]!, verb);
        if (bad === undefined) return '';
        throw new ArgumentError(
          bad.at,
          `error during formatting: ${CLAUSE_PROBLEMS[verb]}, was given ${bad.type!.name}`,
        );
      },
      items.length,
    );
  } catch (error) {
    if (!(error instanceof FunctionError)) throw error;
    issues.push({ at: error instanceof ArgumentError ? error.at : at, message: error.message });
    return;
  }
  if (items.length <= next) return;
  const message = `too many arguments supplied to string.format (expected ${next}, got ${items.length})`;
  issues.push({ at, message });
}

/** The expression that a verb does not accept: the argument, or one nested in it. */
function misfitOf(expr: Expr, verb: string): Expr | undefined {
  const { kind } = expr.type!;
  if (kind !== 'dyn' && !TAKEN[verb]!.includes(kind)) return expr;
  if (verb !== 's' || (expr.kind !== 'list' && expr.kind !== 'map')) return undefined;
  for (const child of childrenOf(expr)) {
    const bad = misfitOf(child, verb);
    if (bad !== undefined) return bad;
  }
  return undefined;
}
