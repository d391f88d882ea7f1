/**
 * Upstream's texts for what the evaluator reports. Compile errors look as cel-go's issues: position, message, the line
 * and a caret below it. Upstream: cel-go common/error.go, checker/errors.go, interpreter errors.
 */
import { EvaluationError } from '@marcbachmann/cel-js';
import { CostExceededError } from './meter.ts';
import type { Rewritten } from './object-literals.ts';
import { spelledName } from './prepare.ts';
import type { Node, TypeDecl } from './syntax-tree.ts';
import { FunctionError } from './values.ts';

/** An expression cannot be compiled; the message is complete. */
export class CompileError extends Error {}

/** An expression failed while it ran. */
export class RuntimeError extends Error {
  /** It went over its cost limit. */
  readonly costExceeded: boolean;

  constructor(message: string, costExceeded = false) {
    super(message);
    this.costExceeded = costExceeded;
  }
}

interface Located {
  readonly code?: string;
  readonly summary?: string;
  readonly message: string;
  readonly node?: unknown;
  readonly range?: { readonly start: number; readonly end: number };
}

/** `ERROR: <input>:1:6: undefined field 'x'`, the line, a caret. `parsed`: what was parsed in place of the expression. */
export function compileErrorText(
  parsed: string | Rewritten,
  error: unknown,
  { expression, functions }: { readonly expression: string; readonly functions: ReadonlySet<string> },
): string {
  if (error instanceof RangeError) return `ERROR: <input>:-1:0: expression recursion limit exceeded: 250`;
  const located = error as Located;
  const node = located.node as Node | undefined;
  const text = typeof parsed === 'string' ? parsed : parsed.text;
  const at = positionOf(text, node) ?? located.range?.start ?? 0;
  const offset = typeof parsed === 'string' ? at : parsed.originalOffset(at);
  return issueText(expression, Math.min(offset, expression.length), compileMessage(located, node, functions));
}

/** One issue at a character offset. */
function issueText(expression: string, offset: number, message: string): string {
  const before = expression.slice(0, offset);
  const line = before.split('\n').length;
  const start = before.lastIndexOf('\n') + 1;
  const column = [...expression.slice(start, offset)].length;
  const source = expression.slice(start).split('\n', 1)[0] ?? '';
  return `ERROR: <input>:${line}:${column + 1}: ${message}\n | ${source}\n | ${'.'.repeat(column)}^`;
}

/** cel-go points at operators, dots and opening parentheses, not at where an operand begins. */
function positionOf(expression: string, node: Node | undefined): number | undefined {
  if (node === undefined || typeof node.pos !== 'number') return undefined;
  const args = node.args as unknown[];
  const after = (from: number, text: string): number => {
    const at = expression.indexOf(text, from);
    return at < 0 ? node.pos : at;
  };
  switch (node.op) {
    case '.':
      return after((args[0] as Node).end, '.');
    case '[]':
      return after((args[0] as Node).end, '[');
    case 'rcall':
      return after(after((args[1] as Node).end, '.'), '(');
    case 'call':
      return after(node.start, '(');
    default:
      return BINARY[node.op] === undefined ? node.pos : after((args[0] as Node).end, node.op);
  }
}

const BINARY: Readonly<Record<string, true>> = {
  '==': true,
  '!=': true,
  '<': true,
  '<=': true,
  '>': true,
  '>=': true,
  '+': true,
  '-': true,
  '*': true,
  '/': true,
  '%': true,
  in: true,
  '&&': true,
  '||': true,
};

function compileMessage(error: Located, node: Node | undefined, functions: ReadonlySet<string>): string {
  const summary = error.summary ?? error.message;
  switch (error.code) {
    case 'unknown_variable':
      return undeclared(node === undefined ? summary : String(node.args));
    case 'no_such_key':
      return `undefined field '${summary.replace(/^No such key: /, '')}'`;
    case 'no_such_overload':
    case 'invalid_logical_operand':
      return node === undefined ? summary : noOverload(node);
    case 'no_matching_overload':
      return node === undefined ? summary : callMessage(node, functions);
    case 'cannot_index_type':
    case 'invalid_index_type':
      return node?.op === '.'
        ? `type '${typeText((node.args as [Node])[0].checkedType)}' does not support field selection`
        : `${summary[0]?.toLowerCase()}${summary.slice(1)}`;
    case 'expected_token':
    case 'unexpected_token':
    case 'unexpected_character':
    case 'unterminated_string':
    case 'unterminated_triple_quoted_string':
    case 'reserved_identifier':
      return syntaxMessage(error.code, summary);
    default:
      return /^[A-Z]{2}/.test(summary) ? summary : `${summary[0]?.toLowerCase() ?? ''}${summary.slice(1)}`;
  }
}

function undeclared(name: string): string {
  return `undeclared reference to '${name}' (in container '')`;
}

function syntaxMessage(code: string, summary: string): string {
  if (summary.endsWith('EOF'))
    return `Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}`;
  if (code === 'reserved_identifier') return summary.replace(/^Reserved identifier: /, 'reserved identifier: ');
  return `Syntax error: ${summary[0]?.toLowerCase() ?? ''}${summary.slice(1)}`;
}

const SPELLINGS: Readonly<Record<string, string>> = { '!_': '!_', '-_': '-_', in: '@in' };

function noOverload(node: Node): string {
  const operands = (Array.isArray(node.args) ? node.args : [node.args]) as Node[];
  const types = operands.map((operand) => typeText(operand.checkedType)).join(', ');
  const name = SPELLINGS[node.op] ?? `_${node.op}_`;
  return `found no matching overload for '${name}' applied to '(${types})'`;
}

function callMessage(node: Node, functions: ReadonlySet<string>): string {
  const [name, ...rest] = node.args as [string, ...unknown[]];
  const spelled = spelledName(name);
  if (name.startsWith('@@') || !(functions.has(name) || functions.has(spelled))) return undeclared(spelled);
  const args = (rest.at(-1) as Node[]).map((arg) => typeText(arg.checkedType)).join(', ');
  const receiver = node.op === 'rcall' ? `${typeText((rest[0] as Node).checkedType)}.` : '';
  return `found no matching overload for '${spelled}' applied to '${receiver}(${args})'`;
}

/** A type as cel-go prints it. */
export function typeText(type: TypeDecl | undefined): string {
  if (type === undefined) return 'dyn';
  return typeNameText(type.name);
}

/** A type's name as cel-go prints it: `list(int)`. */
export function typeNameText(name: string): string {
  return name
    .replaceAll('google.protobuf.Timestamp', 'timestamp')
    .replaceAll('google.protobuf.Duration', 'duration')
    .replaceAll(/\boptional</g, 'optional_type<')
    .replaceAll(/dyn<([^<>]+)>/g, 'dyn')
    .replaceAll('<', '(')
    .replaceAll('>', ')')
    .replace(/^list$/, 'list(dyn)')
    .replace(/^map$/, 'map(dyn, dyn)');
}

/** What a failed evaluation says. */
export function runtimeError(error: unknown): RuntimeError {
  if (error instanceof RuntimeError) return error;
  if (error instanceof CostExceededError) return new RuntimeError(error.message, true);
  if (error instanceof FunctionError) return new RuntimeError(error.message);
  if (error instanceof EvaluationError) return new RuntimeError(evaluationText(error as unknown as Located));
  // Exhausted stacks, and what the evaluator itself trips over: an expression must not bring down its request's server.
  if (error instanceof RangeError || error instanceof TypeError)
    return new RuntimeError(`internal error: ${error.message}`);
  throw error;
}

const NO_OVERLOAD = new Set([
  'no_such_overload',
  'no_matching_overload',
  'invalid_logical_operand',
  'invalid_condition_type',
  'variable_type_mismatch',
  'field_type_mismatch',
  'list_item_type_mismatch',
  'unsupported_type',
  'invalid_index_type',
  'cannot_index_type',
  'invalid_comprehension_range',
  'optional_expected',
  'invalid_comparison_type',
]);

const RUNTIME_TEXTS: Readonly<Record<string, string>> = {
  division_by_zero: 'division by zero',
  modulo_by_zero: 'modulus by zero',
  optional_value_missing: 'optional.none() dereference',
};

function evaluationText(error: Located): string {
  const summary = error.summary ?? error.message;
  const { code = '' } = error;
  if (NO_OVERLOAD.has(code)) return 'no such overload';
  if (RUNTIME_TEXTS[code] !== undefined) return RUNTIME_TEXTS[code];
  if (code === 'index_out_of_bounds') return `index out of bounds: ${/index (-?\d+)/.exec(summary)?.[1] ?? ''}`;
  if (code === 'no_such_key') return summary.replace(/^No such key/, 'no such key');
  if (code === 'unknown_variable') return summary.replace(/^Unknown variable/, 'no such attribute(s)');
  if (code === 'numeric_overflow') return /unsigned/i.test(summary) ? 'unsigned integer overflow' : 'integer overflow';
  return summary;
}
