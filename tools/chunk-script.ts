// Turns a chunk, an ES module, into a script, which `bin/load-bundle.cjs` runs. From a script that has run, V8 serializes the
// code of all functions that were called, and reuses it at the next start. From a module, Node.js caches only the top-level
// compilation, and every function is compiled again at its first call.
// The script is a function of `require`, `importChunk` (for `import()`) and `importMeta`. It returns its exports, which an
// importer reads once, when it is loaded. Chunks must therefore not import each other, change an export later or await at their
// top level; the build fails for one that does.
import { Script } from 'node:vm';

import { type ParseResult, parseSync } from 'rolldown/utils';

import { changedInFunctions } from './changed-variables.ts';

export interface ChunkScript {
  readonly code: string;
  /** The chunks that it loads at its start. */
  readonly requires: readonly string[];
}

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** The translation of import and export statements. */
interface Links {
  readonly edits: Edit[];
  /** The offsets of imports. */
  readonly imports: Set<number>;
  /** Statements that precede all others. */
  readonly heads: string[];
  readonly requires: string[];
  /** The exported variables or expressions by name. */
  readonly exports: Map<string, string>;
}

/**
 * Translates the chunk `name`, whose text is ASCII.
 * @throws Error that names the chunk, for constructs that a script cannot have
 */
export function chunkScript(name: string, text: string): ChunkScript {
  try {
    const parsed = parseSync(name, text, { sourceType: 'module' });
    if (parsed.errors[0] !== undefined) throw new Error(parsed.errors[0].message);
    return linked(text, parsed);
  } catch (error) {
    throw new Error(`${name}: ${(error as Error).message}`, { cause: error });
  }
}

function linked(text: string, parsed: ParseResult): ChunkScript {
  const links = readLinks(text);
  checkLinks(links, parsed.module);
  const changed = changedInFunctions(parsed, text, new Set(links.exports.values()));
  if (changed.length > 0) throw new Error(`functions change what it exports: ${changed.join(', ')}`);
  const { dynamicImports, importMetas } = parsed.module;
  const body = edited(text, [
    ...links.edits,
    ...dynamicImports.map(({ start, end, moduleRequest }) => ({ start, end, text: importCall(text, moduleRequest) })),
    ...importMetas.map(({ start, end }) => ({ start, end, text: 'importMeta' })),
  ]);
  const exported = [...links.exports].map(([name, value]) => `${name}: ${value}`);
  const code = `(function (require, importChunk, importMeta) { 'use strict'; ${links.heads.join(' ')} ${body}
return { ${exported.join(', ')} };
})
`;
  // Compilation reports an await at the top level, among others.
  void new Script(code);
  return { code, requires: links.requires };
}

/** The bundler prints each such statement in a line of its own. */
function readLinks(text: string): Links {
  const links: Links = { edits: [], imports: new Set(), heads: [], requires: [], exports: new Map() };
  const statements = /^(?:import (?:([^"\n]+) from )?"([^"\n]+)";|export \{(.*)\}(?: from "(.+)")?;|export default )/gm;
  for (const { 0: whole, 1: names, 2: imported, 3: exported, 4: from, index } of text.matchAll(statements)) {
    if (imported !== undefined) {
      links.imports.add(index);
      addImport(links, imported, names);
    } else if (exported !== undefined) addExports(links, exported, from);
    else links.exports.set('default', '$default');
    const isDefault = whole === 'export default ';
    links.edits.push({ start: index, end: index + whole.length, text: isDefault ? 'const $default = ' : '' });
  }
  return links;
}

function addImport(links: Links, module: string, names = ''): void {
  const call = requireCall(links, module);
  const [, single, whole, listed] = /^(?:([\w$]+)(?:, )?)?(?:\* as ([\w$]+))?(?:(\{.*\}))?$/.exec(names)!;
  const targets: string[] = [];
  // The default export of Node.js's modules is the whole module.
  if (single !== undefined) targets.push(isChunk(module) ? `{ default: ${single} }` : single);
  if (whole !== undefined) targets.push(whole);
  if (listed !== undefined) targets.push(listed.replaceAll(' as ', ': '));
  links.heads.push(targets.length === 0 ? `${call};` : targets.map((target) => `const ${target} = ${call};`).join(' '));
}

function addExports(links: Links, list: string, module: string | undefined): void {
  const from = module === undefined ? '' : `$from${links.heads.length}.`;
  if (module !== undefined) links.heads.push(`const ${from.slice(0, -1)} = ${requireCall(links, module)};`);
  for (const part of list.split(',').map((name) => name.trim())) {
    const [variable = '', name = variable] = part.split(' as ');
    if (variable !== '') links.exports.set(name, from + variable);
  }
}

/** @throws Error when a line inside a text was parsed as a statement, or a statement was not parsed */
function checkLinks(links: Links, { staticImports, staticExports }: ParseResult['module']): void {
  const starts = new Set(staticImports.map(({ start }) => start));
  const names = staticExports.flatMap(({ entries }) => entries.map(({ exportName }) => exportName.name ?? 'default'));
  const isSame =
    links.imports.symmetricDifference(starts).size === 0 &&
    new Set([...links.exports.keys()].map((name) => name.replaceAll('"', ''))).symmetricDifference(new Set(names))
      .size === 0;
  if (!isSame) throw new Error('its imports and exports are not those of its lines');
}

function isChunk(module: string): boolean {
  return module.startsWith('./');
}

function requireCall(links: Links, module: string): string {
  if (isChunk(module)) links.requires.push(module.slice('./'.length));
  else if (!module.startsWith('node:')) throw new Error(`${module} is no chunk and no module of Node.js`);
  return `require("${module}")`;
}

function importCall(text: string, { start, end }: { start: number; end: number }): string {
  const module = text.slice(start, end);
  if (!/^"(?:\.\/|node:)[^"]+"$/.test(module)) throw new Error(`import(${module}) cannot be linked`);
  return `importChunk(${module})`;
}

function edited(text: string, edits: readonly Edit[]): string {
  let result = '';
  let at = 0;
  for (const edit of edits.toSorted((a, b) => a.start - b.start)) {
    result += text.slice(at, edit.start) + edit.text;
    at = edit.end;
  }
  return result + text.slice(at);
}

/** @throws Error that names chunks that import each other: a script's exports exist only after it has run */
export function checkOrder(scripts: ReadonlyMap<string, ChunkScript>): void {
  const done = new Set<string>();
  const visit = (name: string, path: readonly string[]): void => {
    if (path.includes(name)) throw new Error(`chunks import each other: ${[...path, name].join(' > ')}`);
    if (done.has(name)) return;
    for (const next of scripts.get(name)?.requires ?? []) visit(next, [...path, name]);
    done.add(name);
  };
  for (const name of scripts.keys()) visit(name, []);
}
