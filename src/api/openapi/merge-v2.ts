/**
 * Merges other servers' OpenAPI v2 documents into ours. Upstream: kube-openapi
 * aggregator.MergeSpecsIgnorePathConflictRenamingDefinitionsAndParameters.
 * Our paths and definitions stay unchanged; another server's definition with a taken name and other content is renamed.
 */
import { deepEqual } from '../../base/equal.ts';
import type { Steps } from '../../base/steps.ts';
import { type JsonObject, setOwn } from '../codec/own-property.ts';
import { foreignDocument, foreignEntries } from './foreign-document.ts';
import type { V2Document } from './v2.ts';

const REF_PREFIX = '#/definitions/';

/** Another server's document and the prefix of the paths to merge. */
export interface ForeignV2 {
  readonly text: string;
  /** The prefix of the paths: `/apis/group/version`. */
  readonly under: string;
}

/** Our document with the selected paths of other servers and the definitions that these refer to. The inputs are not changed. */
export function* mergeV2(own: V2Document, foreign: readonly ForeignV2[]): Steps<V2Document> {
  const merged: V2Document = { ...own, paths: { ...own.paths }, definitions: { ...own.definitions } };
  for (const { text, under } of foreign) yield* addForeign(merged, yield* foreignDocument(text), under);
  return merged;
}

function* addForeign(merged: V2Document, document: JsonObject, under: string): Steps<void> {
  const offered = yield* foreignEntries(document, 'definitions');
  const paths = Object.entries(yield* foreignEntries(document, 'paths')).filter(
    ([path]) => (path === under || path.startsWith(`${under}/`)) && !Object.hasOwn(merged.paths, path),
  );
  const needed = yield* reachable(
    offered,
    paths.map(([, item]) => item),
  );
  const names = new Map<string, string>();
  for (const name of needed) names.set(name, yield* nameFor(name, offered[name], merged.definitions));
  for (const [name, as] of names) {
    if (!Object.hasOwn(merged.definitions, as)) setOwn(merged.definitions, as, renamed(offered[name], names));
    yield;
  }
  for (const [path, item] of paths) {
    merged.paths[path] = renamed(item, names);
    yield;
  }
}

/** Names of the definitions that the values refer to, directly or indirectly. */
function* reachable(definitions: JsonObject, values: readonly unknown[]): Steps<Set<string>> {
  const found = new Set<string>();
  const waiting = [...values];
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    for (const name of refsOf(value)) {
      if (found.has(name) || !Object.hasOwn(definitions, name)) continue;
      found.add(name);
      waiting.push(definitions[name]);
    }
    yield;
  }
  return found;
}

function refsOf(value: unknown, found: string[] = []): string[] {
  if (Array.isArray(value)) for (const item of value) refsOf(item, found);
  else if (typeof value === 'object' && value !== null) {
    for (const [key, inner] of Object.entries(value)) {
      if (key === '$ref' && typeof inner === 'string') found.push(definitionOf(inner));
      else refsOf(inner, found);
    }
  }
  return found;
}

function definitionOf(ref: string): string {
  return ref.startsWith(REF_PREFIX) ? ref.slice(REF_PREFIX.length) : '';
}

/** The name itself when it is free or has the same definition, else the first free one of `name_v2`, `name_v3`. */
function* nameFor(name: string, definition: unknown, taken: JsonObject): Steps<string> {
  const plain = withoutTexts(definition);
  for (let number = 1; ; number++) {
    const as = number === 1 ? name : `${name}_v${number}`;
    if (!Object.hasOwn(taken, as) || deepEqual(withoutTexts(taken[as]), plain)) return as;
    yield;
  }
}

/** Definitions are equal when they differ only in descriptions. A property called `description` is an object and is kept. */
function withoutTexts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutTexts);
  if (typeof value !== 'object' || value === null) return value;
  const remaining = Object.entries(value).filter(([key, inner]) => key !== 'description' || typeof inner !== 'string');
  return Object.fromEntries(remaining.map(([key, inner]) => [key, withoutTexts(inner)]));
}

function renamed(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((item) => renamed(item, names));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]): [string, unknown] => {
    if (key !== '$ref' || typeof inner !== 'string') return [key, renamed(inner, names)];
    const as = names.get(definitionOf(inner));
    return [key, as === undefined ? inner : REF_PREFIX + as];
  });
  return Object.fromEntries(entries);
}
