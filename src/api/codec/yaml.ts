// YAML as upstream reads it: YAML 1.1 scalars (`yes`, 0644) without its sexagesimal numbers and timestamps, strict errors for
// duplicate keys, long integers kept. Upstream: sigs.k8s.io/yaml. Importing this file loads the yaml library.

import {
  Composer,
  type Document,
  isAlias,
  isCollection,
  isPair,
  isScalar,
  Lexer,
  LineCounter,
  parseDocument,
  Parser,
  type ScalarTag,
  type Tags,
  visit,
  type YAMLParseError,
} from 'yaml';
import { MAX_DEPTH, MAX_STRICT_ERRORS, type ParsedJson } from './json-parser.ts';
import { isObject, type JsonObject, setOwn } from './own-property.ts';

/** Text that is not YAML. */
export class YamlSyntaxError extends Error {
  override readonly name = 'YamlSyntaxError';
}

/** The library reads some texts without a digit, such as `e1` and `.`, as numbers; Go does not. */
const FLOATS: ReadonlyMap<string | undefined, RegExp> = new Map([
  [undefined, /^[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9]+)$/],
  ['EXP', /^[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9]+)[eE][-+]?[0-9]+$/],
]);

/** Octal numbers as Go's ParseInt reads them, in addition to YAML 1.1's. */
const octal: ScalarTag = {
  identify: () => false,
  default: true,
  tag: 'tag:yaml.org,2002:int',
  test: /^[-+]?0o_*[0-7][0-7_]*$/,
  resolve(text) {
    const value = BigInt(text.replace(/^[-+]/, '').replaceAll('_', ''));
    return text.startsWith('-') ? -value : value;
  },
};

function goTag(tag: Tags[number]): Tags {
  if (typeof tag === 'string') return [tag];
  if (tag.format === 'TIME' || tag.tag.endsWith(':timestamp')) return [];
  const isNumber = tag.tag.endsWith(':float') && 'test' in tag && ['1.5', '1e5'].some((text) => tag.test?.test(text));
  const test = isNumber ? FLOATS.get(tag.format) : undefined;
  return test === undefined ? [tag] : [{ ...(tag as ScalarTag), test }];
}

const options = {
  version: '1.1',
  merge: true,
  intAsBigInt: true,
  uniqueKeys: false,
  customTags: (tags: Tags): Tags => [octal, ...tags.flatMap(goTag)],
} as const;

/** Parses text that must be exactly one YAML document. Throws {@link YamlSyntaxError}. */
export function parseYaml(text: string): ParsedJson {
  const lines = new LineCounter();
  const [first, second] = compose(text, lines, 2);
  if (second !== undefined) throw failure(lines, second.range[0], 'Source contains multiple documents');
  return convert(first!, lines);
}

/** Parses the first YAML document of a body or manifest; as upstream, the rest is ignored. Throws {@link YamlSyntaxError}. */
export function parseFirstYaml(text: string): ParsedJson {
  const lines = new LineCounter();
  const [first] = compose(text, lines, 1);
  return convert(first!, lines);
}

/** Parses a stream of YAML documents; empty ones are left out. Throws {@link YamlSyntaxError}. */
export function parseYamlDocuments(text: string): ParsedJson[] {
  const lines = new LineCounter();
  return compose(text, lines, Infinity)
    .map((document) => convert(document, lines))
    .filter(({ value }) => value !== null);
}

function failure(lines: LineCounter, offset: number, reason: string): YamlSyntaxError {
  return new YamlSyntaxError(
    `error converting YAML to JSON: yaml: line ${Math.max(1, lines.linePos(offset).line)}: ${reason}`,
  );
}

/** The library's position of an error. The library's own text would quote a line for each of up to a million errors. */
type ErrorPlace = number | readonly number[] | { readonly offset: number; readonly source?: string };

interface ThrowingComposer {
  onError(...error: [place: ErrorPlace, code: string, message: string, isWarning?: boolean]): void;
  errors: YAMLParseError[];
}

/** At most `max` documents, at least one. Stops at the first error, because each further error takes time. */
function compose(text: string, lines: LineCounter, max: number): Document.Parsed[] {
  const documents: Document.Parsed[] = [];
  const composer = new Composer({ ...options, keepSourceTokens: false });
  // Both members are private in the library's types; it has no public way to stop at the first error.
  const inner = composer as unknown as ThrowingComposer;
  inner.onError = (place, ...[, message, isWarning]) => {
    if (isWarning === true) return;
    const offset = typeof place === 'number' ? place : 'offset' in place ? place.offset : (place[0] ?? 0);
    throw failure(lines, offset, message);
  };
  const checkErrors = (problems: readonly YAMLParseError[]): void => {
    const [error] = problems;
    if (error !== undefined) throw failure(lines, error.pos[0], error.message);
  };
  const take = (document: Document): boolean => {
    checkErrors(document.errors);
    documents.push(document as Document.Parsed);
    return documents.length >= max;
  };
  let begun = 0;
  for (const token of tokensOf(text, lines)) {
    // Documents behind the last requested one are not composed, because they may be malformed.
    if (token.type === 'document' && ++begun > max) break;
    for (const document of composer.next(token)) if (take(document)) return documents;
    checkErrors(inner.errors);
  }
  for (const document of composer.end(documents.length === 0, text.length)) if (take(document)) return documents;
  return documents;
}

function* tokensOf(text: string, lines: LineCounter): Generator<Parameters<Composer['next']>[0]> {
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  const guard = new LexemeGuard();
  for (const lexeme of new Lexer().lex(text)) {
    const problem = guard.problem(lexeme);
    if (problem !== undefined) throw failure(lines, lines.lineStarts.at(-1) ?? 0, problem);
    yield* parser.next(lexeme);
  }
  yield* parser.end();
}

/** The maximum number of lexemes, blanks and line ends of a document; a document of 3 MiB with ordinary lines has fewer. */
const MAX_LEXEMES = 1_500_000;
/** The maximum number of indicators before one value or key: `- - - - `, `&a !b`. Each is a level of nesting or a property. */
const MAX_INDICATORS_OF_LINE = 2 * MAX_DEPTH;

/** Refuses, before a tree is built, documents that the parser would take minutes for. */
class LexemeGuard {
  #count = 0;
  #flowDepth = 0;
  #indicators = 0;

  problem(lexeme: string): string | undefined {
    if (++this.#count > MAX_LEXEMES) return 'the document has too many parts';
    switch (lexeme.charCodeAt(0)) {
      case 0x5b: // [
      case 0x7b: // {
        return ++this.#flowDepth > MAX_DEPTH ? 'exceeded max depth' : undefined;
      case 0x5d: // ]
      case 0x7d: // }
        this.#flowDepth = Math.max(0, this.#flowDepth - 1);
        return undefined;
      case 0x0a: // newline
      case 0x0d:
      case 0x1f: // a scalar follows
      case 0x22: // "
      case 0x27: // '
      case 0x2a: // *
      case 0x2c: // ,
        this.#indicators = 0;
        return undefined;
      case 0x20: // blank
        return undefined;
      default:
        return ++this.#indicators > MAX_INDICATORS_OF_LINE ? 'exceeded max depth' : undefined;
    }
  }
}

function convert(document: Document.Parsed, lines: LineCounter): ParsedJson {
  visit(document, {
    Pair: (_, { key }) => {
      if (isCollection(key)) throw new YamlSyntaxError('error converting YAML to JSON: yaml: invalid map key');
    },
  });
  const duplicates = findDuplicates(document, lines);
  let value: unknown;
  try {
    value = document.toJS();
  } catch (cause) {
    throw new YamlSyntaxError(`error converting YAML to JSON: yaml: ${String(cause)}`, { cause });
  }
  const list = duplicates.map((d) => `\n  line ${d.line}: key ${JSON.stringify(d.key)} already set in map`);
  return { value: shrink(value), duplicates: list.length === 0 ? [] : [`yaml: unmarshal errors:${list.join('')}`] };
}

interface NodeLike {
  items?: ({ key?: { value?: unknown; range?: number[] }; value?: NodeLike } | NodeLike)[];
}

/** The first hundred keys that occur again in their mapping, with the line of the second occurrence. */
function findDuplicates(document: Document, lines: LineCounter): { key: string; line: number }[] {
  const duplicates: { key: string; line: number }[] = [];
  const walk = (node: NodeLike | null | undefined): void => {
    const seen = new Set<unknown>();
    for (const item of node?.items ?? []) {
      if (duplicates.length >= MAX_STRICT_ERRORS) return;
      if (!('key' in item) || item.key === undefined) {
        walk(item as NodeLike);
        continue;
      }
      const key = item.key?.value;
      if (seen.has(key)) duplicates.push({ key: String(key), line: lines.linePos(item.key?.range?.[0] ?? 0).line });
      seen.add(key);
      walk(item.value as NodeLike);
    }
  };
  walk(document.contents as NodeLike);
  return duplicates;
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

/**
 * The line, counted from 1, of the value at a path of keys and indexes, or of its nearest existing parent. `text` must be YAML.
 */
export function yamlLine(text: string, path: readonly (string | number)[]): number {
  const document = parseDocument(text, options);
  let node: unknown = document.contents;
  let offset = 0;
  for (const part of path) {
    if (isAlias(node)) node = node.resolve(document);
    if (!isCollection(node)) break;
    const item = (node.items as unknown[]).find((one, index) =>
      isPair(one) ? isScalar(one.key) && one.key.value === part : index === part,
    );
    if (item === undefined) break;
    const [at, inner] = isPair(item) ? [item.key, item.value] : [item, item];
    offset = (at as { range?: readonly number[] } | null)?.range?.[0] ?? offset;
    node = inner;
  }
  return lineAt(text, offset);
}

/** Turns bigints that fit into numbers. Throws for values that JSON cannot represent. */
function shrink(value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new YamlSyntaxError(
      `error converting YAML to JSON: json: unsupported value: ${Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'}`,
    );
  if (typeof value === 'bigint') {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : value;
  }
  if (Array.isArray(value)) return value.map(shrink);
  if (!isObject(value)) return value;
  const out: JsonObject = {};
  for (const key of Object.keys(value)) setOwn(out, key, shrink(value[key]));
  return out;
}
