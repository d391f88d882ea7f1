/**
 * Fits a parsed expression to this environment: before the check, calls to functions that replace the evaluator's own are
 * renamed and `has` gets its macro; after it, nodes charge the meter. Upstream prices: cel-go's cost tracker and
 * apiserver/pkg/cel/library/cost.go.
 */
import { hasMacro } from './macros.ts';
import { charge, chargeText } from './meter.ts';
import type { Evaluate, Node } from './syntax-tree.ts';
import { childrenOf } from './syntax-tree.ts';
import { isMapValue } from './values.ts';

const REPLACED = new Set([
  'indexOf',
  'lastIndexOf',
  'lowerAscii',
  'upperAscii',
  'split',
  'substring',
  'join',
  'matches',
  'timestamp',
  'duration',
  'getFullYear',
  'getMonth',
  'getDate',
  'getDayOfMonth',
  'getDayOfWeek',
  'getDayOfYear',
  'getHours',
  'getMinutes',
  'getSeconds',
  'getMilliseconds',
]);

/** Functions of the evaluator that the language does not have. */
const FOREIGN = new Set(['json', 'hex', 'base64', 'at']);

/** Renames and expands in place. To be called once, before the check. */
export function prepareNode(root: Node): void {
  visit(root, (node) => {
    if (node.op !== 'call' && node.op !== 'rcall') return;
    const args = node.args as [string, ...unknown[]];
    const [name] = args;
    if (name === 'has' && node.op === 'call' && node.meta.macro !== undefined) {
      node.setMeta('macro', hasMacro((args[1] as Node[])[0]));
    } else if (REPLACED.has(name)) args[0] = `@${name}`;
    else if (FOREIGN.has(name) && node.op === 'rcall') args[0] = `@@${name}`;
  });
}

/** The name of a function as the expression spells it. */
export function spelledName(name: string): string {
  return name.replace(/^@+/, '');
}

/** Calls back for each node that is evaluated, once. */
function visit(root: Node, callback: (node: Node) => void): void {
  const seen = new Set<Node>();
  const waiting = [root];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (seen.has(node)) continue;
    seen.add(node);
    callback(node);
    waiting.push(...childrenOf(node));
  }
}

/** Makes nodes charge the meter. To be called once, after the check. */
export function instrumentNode(root: Node): void {
  visit(root, (node) => {
    if (node.meta.alternate !== undefined) return;
    const price = FLAT_PRICES[node.op];
    if (price !== undefined) node.evaluate = charging(node, price);
    if (node.handle !== undefined) instrumentHandle(node);
    if (node.op === 'comprehension') instrumentStep((node.args as { step: Node }).step);
  });
}

const FLAT_PRICES: Readonly<Record<string, number>> = { id: 1, '.': 1, '.?': 1, '[]': 1, '[?]': 1, list: 10, map: 30 };

function charging(node: Node, price: number): Evaluate {
  let inner: Evaluate | undefined;
  return (evaluator, _node, scope) => {
    charge(price);
    // What evaluates a node is settled by the check, so it is looked up at the first evaluation.
    inner ??= resolve(node);
    return inner(evaluator, node, scope);
  };
}

function resolve(node: Node): Evaluate {
  const { macro, evaluate } = node.meta;
  if (macro !== undefined) return (evaluator, _node, scope) => macro.evaluate(evaluator, macro, scope);
  return evaluate;
}

/** Each turn of a loop costs, whatever its body does. */
function instrumentStep(step: Node): void {
  const inner = step.evaluate;
  step.evaluate = function (evaluator, node, scope) {
    charge(1);
    step.evaluate = inner;
    try {
      return inner.call(step, evaluator, node, scope);
    } finally {
      const settled = step.evaluate;
      step.evaluate = (ev, _node, sc) => {
        charge(1);
        return settled.call(step, ev, step, sc);
      };
    }
  };
}

function instrumentHandle(node: Node): void {
  const { handle, op } = node;
  if (op === 'call' || op === 'rcall') {
    node.handle = (args, ...rest) => {
      chargeCall(spelledName((node.args as [string])[0]), args as unknown[]);
      return handle!(args, ...rest);
    };
  } else if (op === '+' || COMPARISONS.has(op)) {
    node.handle = (left, right, ...rest) => {
      charge(1);
      chargeOperands(op, left, right);
      return handle!(left, right, ...rest);
    };
  } else if (op === '-' || op === '*' || op === '/' || op === '%' || op === 'in') {
    node.handle = (left, right, ...rest) => {
      charge(op === 'in' && Array.isArray(right) ? Math.max(1, right.length) : 1);
      return handle!(left, right, ...rest);
    };
  }
}

const COMPARISONS = new Set(['==', '!=', '<', '<=', '>', '>=']);

function chargeOperands(op: string, left: unknown, right: unknown): void {
  const [a, b] = [sizeOf(left), sizeOf(right)];
  const size = op === '+' ? a + b : Math.min(a, b);
  if (Array.isArray(left) || isMapValue(left)) charge(size);
  else if (size > 0) charge(Math.ceil(size / 10));
}

/** Characters, bytes, items or entries; values inside lists and maps count through their number only. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string' || Array.isArray(value) || value instanceof Uint8Array) return value.length;
  if (value instanceof Map || value instanceof Set) return value.size;
  return isMapValue(value) ? Object.keys(value).length : 0;
}

function chargeCall(name: string, args: readonly unknown[]): void {
  charge(1);
  const [first, second] = args;
  const [a, b] = [sizeOf(first), sizeOf(second)];
  if (typeof first !== 'string' && !(first instanceof Uint8Array)) return;
  if (name === 'contains') charge(Math.ceil(a / 10) * Math.ceil(b / 10));
  else if (name === 'startsWith' || name === 'endsWith') chargeText(b);
  else if (name === 'indexOf' || name === 'lastIndexOf') charge(Math.ceil((a * Math.max(1, b)) / 10));
  else if (name !== 'size' && name !== 'matches' && name !== 'find' && name !== 'findAll') chargeText(a);
}
