/**
 * How much an expression may cost at worst, from its syntax tree and the sizes of what it reads: a guard at the creation of
 * custom resource definitions, in the units of meter.ts. Upstream: cel-go checker/cost.go and apiserver/pkg/cel/library/cost.go.
 * Coarser than upstream: of both branches the dearer counts, and made values are as large as what they are made from.
 */
import { spelledName } from './prepare.ts';
import { type Size, SCALAR_SIZE, UNKNOWN_SIZE } from './rules/size.ts';
import type { Node } from './syntax-tree.ts';

interface Estimate {
  readonly cost: number;
  readonly size: Size;
}

type Sizes = ReadonlyMap<string, Size>;

/** The worst cost of an expression whose variables have these sizes. */
export function estimateCost(tree: Node, sizes: Sizes): number {
  return estimate(tree, sizes).cost;
}

function estimate(node: Node, sizes: Sizes): Estimate {
  const { alternate } = node.meta;
  if (alternate !== undefined) return estimate(alternate, sizes);
  const args = node.args as unknown[];
  switch (node.op) {
    case 'value':
      return { cost: 0, size: valueSize(node.args) };
    case 'id':
      return { cost: 1, size: sizes.get(node.args as string) ?? SCALAR_SIZE };
    case '.':
    case '.?':
      return select(args as [Node, string], sizes);
    case '[]':
    case '[?]':
      return index(args as [Node, Node], sizes);
    case 'list':
      return aggregate(args as Node[], 10, sizes);
    case 'map':
      return aggregate((args as [Node, Node][]).flat(), 30, sizes);
    case 'comprehension':
      return comprehension(node.args as unknown as Comprehension, sizes);
    case 'call':
      return call(node, { parts: args[1] as Node[], sizes });
    case 'rcall':
      return call(node, { parts: [args[1] as Node, ...(args[2] as Node[])], sizes });
    default:
      return operator(node, sizes);
  }
}

function valueSize(value: unknown): Size {
  return typeof value === 'string' || value instanceof Uint8Array ? { max: value.length } : SCALAR_SIZE;
}

function select([operand, field]: [Node, string], sizes: Sizes): Estimate {
  const { cost, size } = estimate(operand, sizes);
  return { cost: cost + 1, size: size.fields?.get(field) ?? size.items ?? inherited(size) };
}

function index([operand, key]: [Node, Node], sizes: Sizes): Estimate {
  const { cost, size } = estimate(operand, sizes);
  return { cost: cost + estimate(key, sizes).cost + 1, size: size.items ?? inherited(size) };
}

/** What is inside of something unknown is unknown too. */
function inherited(size: Size): Size {
  return size.max >= UNKNOWN_SIZE.max ? UNKNOWN_SIZE : SCALAR_SIZE;
}

function aggregate(parts: readonly Node[], price: number, sizes: Sizes): Estimate {
  const inside = parts.map((part) => estimate(part, sizes));
  return {
    cost: inside.reduce((sum, part) => sum + part.cost, price),
    size: { max: parts.length, items: largest(inside) },
  };
}

function largest(parts: readonly Estimate[]): Size {
  return parts.reduce<Size>((best, { size }) => (size.max > best.max ? size : best), SCALAR_SIZE);
}

interface Comprehension {
  readonly iterable: Node;
  readonly iterVarName: string;
  readonly step: Node;
}

function comprehension({ iterable, iterVarName, step }: Comprehension, sizes: Sizes): Estimate {
  const range = estimate(iterable, sizes);
  const item = isMap(iterable) ? { max: 253 } : (range.size.items ?? inherited(range.size));
  const body = estimate(step, new Map([...sizes, [iterVarName, item]]));
  return { cost: range.cost + range.size.max * (body.cost + 1), size: { max: range.size.max, items: body.size } };
}

function isMap(node: Node): boolean {
  return node.checkedType?.kind === 'map';
}

function operator(node: Node, sizes: Sizes): Estimate {
  const operands = (Array.isArray(node.args) ? node.args : [node.args]).filter(
    (arg) => typeof arg === 'object',
  ) as Node[];
  const parts = operands.map((operand) => estimate(operand, sizes));
  const below = parts.reduce((sum, part) => sum + part.cost, 0);
  const [left, right] = parts.map((part) => part.size);
  switch (node.op) {
    case '?:':
      return { cost: parts[0]!.cost + Math.max(parts[1]!.cost, parts[2]!.cost), size: largest(parts.slice(1)) };
    case '||':
    case '&&':
      return { cost: below, size: SCALAR_SIZE };
    case '+':
      return { cost: below + price(left!.max + right!.max, node), size: { ...left, max: left!.max + right!.max } };
    case 'in':
      return { cost: below + right!.max, size: SCALAR_SIZE };
    case '!_':
    case '-_':
      return { cost: below + 1, size: SCALAR_SIZE };
    default:
      // Steps of macros have one operand: what they add to the list, or the condition they count by.
      if (left === undefined || right === undefined) return { cost: below + 1, size: left ?? SCALAR_SIZE };
      return { cost: below + price(Math.min(left.max, right.max), node), size: SCALAR_SIZE };
  }
}

/** Characters cost a tenth, items one each. */
function price(size: number, node: Node): number {
  const first = (node.args as Node[])[0]?.checkedType?.kind;
  return first === 'list' || first === 'map' ? size : Math.max(1, Math.ceil(size / 10));
}

/** Macros whose body runs once per entry: the last arguments are bodies, the first ones names. */
const LOOPS = new Set([
  'all',
  'exists',
  'existsOne',
  'exists_one',
  'transformList',
  'transformMap',
  'transformMapEntry',
]);

function call(node: Node, { parts, sizes }: { parts: readonly Node[]; sizes: Sizes }): Estimate {
  const name = spelledName((node.args as [string])[0]);
  if (node.meta.macro !== undefined) return macro(name, parts, sizes);
  const inside = parts.map((part) => estimate(part, sizes));
  const below = inside.reduce((sum, part) => sum + part.cost, 1);
  const first = inside[0]?.size ?? SCALAR_SIZE;
  const second = inside[1]?.size ?? SCALAR_SIZE;
  return {
    cost: below + callPrice(name, first, second),
    size: LARGE_RESULTS.has(name) ? largest(inside) : SCALAR_SIZE,
  };
}

const LARGE_RESULTS = new Set(
  'lowerAscii upperAscii replace split substring trim join reverse format find findAll slice sort distinct flatten string bytes dyn'.split(
    ' ',
  ),
);

function callPrice(name: string, first: Size, second: Size): number {
  switch (name) {
    case 'matches':
    case 'find':
    case 'findAll':
      return Math.ceil(first.max / 10) * Math.ceil(second.max / 4);
    case 'contains':
      return Math.ceil(first.max / 10) * Math.ceil(second.max / 10);
    case 'startsWith':
    case 'endsWith':
      return Math.ceil(second.max / 10);
    case 'size':
    case 'dyn':
    case 'type':
    case 'duration':
    case 'timestamp':
    case 'int':
    case 'uint':
    case 'double':
    case 'bool':
      return 0;
    case 'isSorted':
    case 'sum':
    case 'min':
    case 'max':
      return first.max;
    case 'check':
      return 350_000;
    default:
      return Math.ceil(first.max / 10);
  }
}

function macro(name: string, parts: readonly Node[], sizes: Sizes): Estimate {
  if (name === 'has') return estimate(parts[0]!, sizes);
  if (name === 'bind') return bind(parts, sizes);
  const range = estimate(parts[0]!, sizes);
  const item = range.size.items ?? inherited(range.size);
  const isLoop = LOOPS.has(name);
  const variables = parts.slice(1, isLoop ? 3 : 2).filter((part) => part.op === 'id');
  const inner = new Map([...sizes, ...variables.map((variable) => [variable.args as string, item] as const)]);
  const bodies = parts.slice(1 + variables.length).map((part) => estimate(part, inner));
  const turn = bodies.reduce((sum, body) => sum + body.cost, 1);
  const size = { max: range.size.max, items: largest(bodies) };
  return { cost: range.cost + (isLoop ? range.size.max : 1) * turn, size: isLoop ? size : largest(bodies) };
}

/** `cel.bind(name, value, body)`, the receiver first. */
function bind(parts: readonly Node[], sizes: Sizes): Estimate {
  const [, name, value, body] = parts;
  const bound = estimate(value!, sizes);
  const inner = estimate(body!, new Map([...sizes, [name!.args as string, bound.size]]));
  return { cost: bound.cost + inner.cost, size: inner.size };
}
