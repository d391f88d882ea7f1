// YAML as upstream reads it: YAML 1.1 scalars (`yes`, 0644) without its sexagesimal numbers and timestamps, duplicate
// keys as strict errors, long integers kept. Upstream: sigs.k8s.io/yaml. Importing this loads the yaml library.

import {
  isAlias,
  isCollection,
  isPair,
  isScalar,
  parseAllDocuments,
  parseDocument,
  stringify,
  visit,
  type Document,
  type Tags,
} from 'yaml';
import type { ParsedJson } from './json-parser.ts';
import { isObject, setOwn, type JsonObject } from './own-property.ts';

/** Text that is not YAML. */
export class YamlSyntaxError extends Error {
  override readonly name = 'YamlSyntaxError';
}

const options = {
  version: '1.1',
  merge: true,
  intAsBigInt: true,
  uniqueKeys: false,
  customTags: (tags: Tags): Tags =>
    tags.filter((tag) => typeof tag === 'string' || (tag.format !== 'TIME' && !tag.tag.endsWith(':timestamp'))),
} as const;

/** Parses one YAML document. Throws {@link YamlSyntaxError}. */
export function parseYaml(text: string): ParsedJson {
  return convert(parseDocument(text, options), text);
}

/** Parses a stream of YAML documents; empty ones are left out. Throws {@link YamlSyntaxError}. */
export function parseYamlDocuments(text: string): ParsedJson[] {
  const documents = parseAllDocuments(text, options) as Document.Parsed[];
  return documents.map((document) => convert(document, text)).filter(({ value }) => value !== null);
}

function convert(document: Document, text: string): ParsedJson {
  const [error] = document.errors;
  if (error !== undefined) {
    const line = error.linePos?.[0].line;
    const reason = error.message.split(' at line')[0];
    throw new YamlSyntaxError(
      `error converting YAML to JSON: yaml: ${line === undefined ? '' : `line ${line}: `}${reason}`,
    );
  }
  visit(document, {
    Pair: (_, { key }) => {
      if (isCollection(key)) throw new YamlSyntaxError('error converting YAML to JSON: yaml: invalid map key');
    },
  });
  const duplicates = findDuplicates(document, text);
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

/** Keys that occur again in their mapping, with the line of the second. */
function findDuplicates(document: Document, text: string): { key: string; line: number }[] {
  const found: { key: string; line: number }[] = [];
  const walk = (node: NodeLike | null | undefined): void => {
    const seen = new Set<unknown>();
    for (const item of node?.items ?? []) {
      if (!('key' in item) || item.key === undefined) {
        walk(item as NodeLike);
        continue;
      }
      const key = item.key?.value;
      if (seen.has(key)) found.push({ key: String(key), line: lineAt(text, item.key?.range?.[0] ?? 0) });
      seen.add(key);
      walk(item.value as NodeLike);
    }
  };
  walk(document.contents as unknown as NodeLike);
  return found;
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

/** The line, from 1, of what stands at a path of keys and indexes, or of the nearest thing above it. `text` must be YAML. */
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

/** Integers that fit become numbers again. */
function shrink(value: unknown): unknown {
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

/** YAML text with sorted keys, as upstream writes it. */
export function stringifyYaml(value: unknown): string {
  return stringify(value, {
    version: '1.1',
    sortMapEntries: true,
    lineWidth: 0,
    indentSeq: false,
    aliasDuplicateObjects: false,
  });
}
