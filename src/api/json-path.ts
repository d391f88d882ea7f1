/**
 * JSONPath of printer columns, selectable fields and scale paths. Upstream: client-go/util/jsonpath. Text around braces and
 * ranges are left out, because definitions may not use them.
 * Missing keys select nothing. A path is parsed once and evaluated without recursion into user text. It is written by hand rather
 * than with jsonpath-plus, whose dialect differs and evaluates scripts.
 */

/** One step of a path. */
export type Step =
  | { readonly kind: 'field'; readonly name: string }
  | { readonly kind: 'every' }
  | { readonly kind: 'descend' }
  | { readonly kind: 'slice'; readonly from?: number; readonly to?: number; readonly step: number }
  | { readonly kind: 'index'; readonly at: number }
  | { readonly kind: 'union'; readonly of: readonly JsonPath[] }
  | { readonly kind: 'filter'; readonly left: Operand; readonly operator: string; readonly right?: Operand };

export type Operand = { readonly path: JsonPath } | { readonly literal: unknown };

export interface JsonPath {
  readonly steps: readonly Step[];
}

/** A path that cannot be parsed. */
export class JsonPathError extends Error {
  override readonly name = 'JsonPathError';
}

interface Reader {
  readonly text: string;
  /** The number of enclosing filters and unions. */
  readonly depth: number;
  at: number;
}

/** The limit of nesting, since each level is parsed once more. */
const MAX_DEPTH = 20;

/** Parses `.spec.items[?(@.type=="A")].name`, with or without braces and `$`. Throws {@link JsonPathError}. */
export function parseJsonPath(text: string): JsonPath {
  return parseNested(text, 0);
}

function parseNested(text: string, depth: number): JsonPath {
  if (depth > MAX_DEPTH) throw new JsonPathError(`filters are nested more than ${MAX_DEPTH} deep`);
  const trimmed = text.trim();
  const bare = trimmed.startsWith('{') && trimmed.endsWith('}') ? trimmed.slice(1, -1) : trimmed;
  const reader: Reader = { text: bare, depth, at: 0 };
  if (reader.text[0] === '$' || reader.text[0] === '@') reader.at++;
  const steps: Step[] = [];
  while (reader.at < reader.text.length) readStep(reader, steps);
  return { steps };
}

function readStep(reader: Reader, steps: Step[]): void {
  const { text } = reader;
  if (text.startsWith('..', reader.at)) {
    reader.at += 2;
    steps.push({ kind: 'descend' });
    if (text[reader.at] !== '[') steps.push(readName(reader));
  } else if (text[reader.at] === '.') {
    reader.at++;
    if (reader.at < text.length && text[reader.at] !== '[') steps.push(readName(reader));
  } else if (text[reader.at] === '[') {
    steps.push(readBracket(reader));
  } else if (reader.at === 0) {
    steps.push(readName(reader));
  } else {
    throw new JsonPathError(`unrecognized character in action: U+${hex(text.charCodeAt(reader.at))}`);
  }
}

function hex(code: number): string {
  return code.toString(16).toUpperCase().padStart(4, '0');
}

function readName(reader: Reader): Step {
  const { text } = reader;
  let name = '';
  while (reader.at < text.length && !'.[]'.includes(text[reader.at]!)) {
    if (text[reader.at] === '\\') reader.at++;
    name += text[reader.at++] ?? '';
  }
  if (name === '') throw new JsonPathError(`unexpected end of a path: ${text}`);
  return name === '*' ? { kind: 'every' } : { kind: 'field', name };
}

function readBracket(reader: Reader): Step {
  const { text } = reader;
  const depth = reader.depth + 1;
  const end = closingBracket(text, reader.at);
  const inside = text.slice(reader.at + 1, end).trim();
  reader.at = end + 1;
  if (inside === '*') return { kind: 'every' };
  if (inside.startsWith('?(') && inside.endsWith(')')) return readFilter(inside.slice(2, -1), depth);
  const members = membersOf(inside);
  if (members.length > 1)
    return { kind: 'union', of: members.map((member) => parseNested(`[${member.trim()}]`, depth)) };
  const quoted = /^'((?:[^'\\]|\\.)*)'$|^"((?:[^"\\]|\\.)*)"$/.exec(inside);
  if (quoted !== null) return { kind: 'field', name: (quoted[1] ?? quoted[2] ?? '').replaceAll(/\\(.)/g, '$1') };
  if (/^-?\d+$/.test(inside)) return { kind: 'index', at: Number(inside) };
  const slice = /^(-?\d*):(-?\d*)(?::(-?\d*))?$/.exec(inside);
  if (slice === null) throw new JsonPathError(`invalid array index ${inside}`);
  const [, from = '', to = '', step = ''] = slice;
  return {
    kind: 'slice',
    ...(from === '' ? {} : { from: Number(from) }),
    ...(to === '' ? {} : { to: Number(to) }),
    step: step === '' ? 1 : Number(step),
  };
}

/** Splits at commas outside quotes. */
function membersOf(text: string): string[] {
  const members: string[] = [];
  let quote = '';
  let from = 0;
  for (let at = 0; at <= text.length; at++) {
    const c = text[at];
    if (c === undefined || (c === ',' && quote === '')) {
      if (at > from) members.push(text.slice(from, at));
      from = at + 1;
    } else if (quote !== '') {
      if (c === '\\') at++;
      else if (c === quote) quote = '';
    } else if (c === "'" || c === '"') quote = c;
  }
  return members;
}

function closingBracket(text: string, start: number): number {
  let depth = 0;
  let quote = '';
  for (let at = start; at < text.length; at++) {
    const c = text[at]!;
    if (quote !== '') {
      if (c === '\\') at++;
      else if (c === quote) quote = '';
    } else if (c === "'" || c === '"') quote = c;
    else if (c === '[') depth++;
    else if (c === ']' && --depth === 0) return at;
  }
  throw new JsonPathError('unterminated array');
}

const COMPARISON = /==|!=|<=|>=|<|>/;

function readFilter(text: string, depth: number): Step {
  const match = COMPARISON.exec(text.trim());
  if (match === null) return { kind: 'filter', left: operand(text.trim(), depth), operator: 'exists' };
  const { 0: operator, index } = match;
  const [left, right] = [match.input.slice(0, index).trimEnd(), match.input.slice(index + operator.length).trimStart()];
  return { kind: 'filter', left: operand(left, depth), operator, right: operand(right, depth) };
}

function operand(text: string, depth: number): Operand {
  if (text.startsWith('@') || text.startsWith('$') || text.startsWith('.')) return { path: parseNested(text, depth) };
  const quoted = /^'(.*)'$|^"(.*)"$/s.exec(text);
  if (quoted !== null) return { literal: quoted[1] ?? quoted[2] ?? '' };
  if (text === 'true' || text === 'false') return { literal: text === 'true' };
  if (text !== '' && !Number.isNaN(Number(text))) return { literal: Number(text) };
  throw new JsonPathError(`unrecognized filter operand ${text}`);
}

/** The field names of a path that has only fields; undefined for other paths. */
export function plainFields(path: JsonPath): readonly string[] | undefined {
  const names: string[] = [];
  for (const step of path.steps) {
    if (step.kind !== 'field') return undefined;
    names.push(step.name);
  }
  return names;
}
