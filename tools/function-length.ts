// Checks the length of functions in two ways. A function's own lines (without those of nested functions) are at most
// `MAX_OWN_LINES`; the style asks for about 40. All its lines are at most `MAX_WHOLE_LINES`: a longer factory becomes a class or
// smaller functions. Blank lines and comments do not count.
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { parseAst } from 'rolldown/parseAst';

import { isMain, repositoryRoot } from './repository.ts';

/** The most own lines a function may have. */
export const MAX_OWN_LINES = 60;

/** The most lines a function may have together with the functions inside it. */
export const MAX_WHOLE_LINES = 120;

/** Functions longer than `MAX_WHOLE_LINES` that still have to be divided. An unneeded entry fails the check. */
const UNDIVIDED: readonly string[] = [];

/** A function with the number of its own lines and of all its lines. */
export interface FunctionLength {
  readonly name: string;
  /** The line of its start, from 1. */
  readonly line: number;
  readonly ownLines: number;
  readonly wholeLines: number;
}

interface AstNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

const functionTypes = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']);

/** Every function of a TypeScript source, outer before inner. @throws Error when the source does not parse */
export function functionLengths(source: string, lang: 'ts' | 'tsx' = 'ts'): FunctionLength[] {
  const { lineOf, counts } = readLines(source);
  const found: FunctionLength[] = [];
  // Returns the numbers of the lines that lie within functions below the node.
  const visit = (node: AstNode, name: string): Set<number> => {
    const inner = new Set<number>();
    const index = functionTypes.has(node.type) ? found.push({ name, line: 0, ownLines: 0, wholeLines: 0 }) - 1 : -1;
    for (const [child, childName] of children(node))
      for (const line of visit(child, childName || name)) inner.add(line);
    if (index < 0) return inner;
    const [first, last] = [lineOf(node.start), lineOf(node.end)];
    const lines = Array.from({ length: last - first + 1 }, (_, offset) => first + offset);
    const codeLines = lines.filter((line) => counts[line]);
    const ownLines = codeLines.filter((line) => !inner.has(line)).length;
    found[index] = { name, line: first, ownLines, wholeLines: codeLines.length };
    // The first and last line are shared with the code around the function.
    return new Set(lines.slice(1));
  };
  visit(parseAst(source, { lang }) as unknown as AstNode, '');
  return found;
}

function* children(node: AstNode): Generator<[AstNode, string]> {
  for (const value of Object.values(node)) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (typeof (item as AstNode | null)?.type === 'string') yield [item as AstNode, nameOf(item as AstNode, node)];
    }
  }
}

function nameOf(node: AstNode, parent: AstNode): string {
  const named = (node['id'] ?? parent['id'] ?? parent['key']) as { name?: string } | null | undefined;
  return named?.name ?? '';
}

// The starts of lines, and which lines contain code.
function readLines(source: string): { lineOf(offset: number): number; counts: boolean[] } {
  const starts = [0];
  for (let at = source.indexOf('\n'); at >= 0; at = source.indexOf('\n', at + 1)) starts.push(at + 1);
  const counts = [false, ...source.split('\n').map((line) => !/^\s*(\/\/.*|\/?\*.*)?$/.test(line))];
  const lineOf = (offset: number): number => {
    let [low, high] = [0, starts.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (starts[middle]! <= offset) low = middle;
      else high = middle;
    }
    return low + 1;
  };
  return { lineOf, counts };
}

/**
 * The functions below `root`/src that are too long, as `path:line name has N lines`; tests and generated files are exempt.
 * `undivided` lists functions that may be longer as a whole, as `path name`.
 */
export function longFunctions(
  root: string,
  undivided: readonly string[] = [],
): { files: number; violations: string[] } {
  const files = globSync('src/**/*.{ts,tsx}', { cwd: root }).filter(
    (path) => !/\.test\.ts$|suite\.ts$|fixture\.ts$|\/gen\//.test(path),
  );
  const violations: string[] = [];
  const unused = new Set(undivided);
  for (const path of files) {
    const source = readFileSync(join(root, path), 'utf8');
    const functions = functionLengths(source, path.endsWith('x') ? 'tsx' : 'ts');
    for (const { name, line, ownLines, wholeLines } of functions) {
      const at = `${path}:${line} ${name || 'function'} has`;
      if (ownLines > MAX_OWN_LINES) violations.push(`${at} ${ownLines} lines of its own, the most is ${MAX_OWN_LINES}`);
      if (wholeLines <= MAX_WHOLE_LINES || unused.delete(`${path} ${name}`)) continue;
      violations.push(`${at} ${wholeLines} lines with the functions inside it, the most is ${MAX_WHOLE_LINES}`);
    }
  }
  for (const entry of unused) violations.push(`${entry} is short enough: delete it from UNDIVIDED`);
  return { files: files.length, violations };
}

if (isMain(import.meta.url)) {
  const { files, violations } = longFunctions(resolve(process.argv[2] ?? repositoryRoot), UNDIVIDED);
  for (const violation of violations) console.error(violation);
  if (files === 0) console.error('no source files to check');
  process.exitCode = violations.length > 0 || files === 0 ? 1 : 0;
}
