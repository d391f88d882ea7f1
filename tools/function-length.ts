// Checks that functions stay short. A function's own lines count: not those of functions inside it (so that a factory of
// closures is judged by its parts), not blank lines and not comments. The style asks for about 40; more than `maxOwnLines` fails.
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { parseAst } from 'rolldown/parseAst';

import { isMain, repositoryRoot } from './repository.ts';

/** The most own lines a function may have. */
export const maxOwnLines = 60;

/** A function and the lines that are its own. */
export interface FunctionLength {
  readonly name: string;
  /** The line it starts at, from 1. */
  readonly line: number;
  readonly ownLines: number;
}

interface AstNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

const functionTypes = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']);

/** Every function of a TypeScript source, outer before inner. @throws Error when the source does not parse */
export function functionLengths(source: string): FunctionLength[] {
  const { lineOf, counts } = readLines(source);
  const found: FunctionLength[] = [];
  // Returns the numbers of the lines that lie within functions below the node.
  const visit = (node: AstNode, name: string): Set<number> => {
    const inner = new Set<number>();
    const index = functionTypes.has(node.type) ? found.push({ name, line: lineOf(node.start), ownLines: 0 }) - 1 : -1;
    for (const [child, childName] of children(node))
      for (const line of visit(child, childName || name)) inner.add(line);
    if (index < 0) return inner;
    const [first, last] = [lineOf(node.start), lineOf(node.end)];
    const lines = Array.from({ length: last - first + 1 }, (_, offset) => first + offset);
    const ownLines = lines.filter((line) => counts[line] && !inner.has(line)).length;
    found[index] = { name, line: first, ownLines };
    // The first and last line are shared with what surrounds the function.
    return new Set(lines.slice(1));
  };
  visit(parseAst(source, { lang: 'ts' }) as unknown as AstNode, '');
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

// Where lines begin, and which of them hold something other than white space and comments.
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

/** The functions below `root`/src that are too long, as `path:line name has N lines`; tests and generated files are exempt. */
export function longFunctions(root: string): { files: number; violations: string[] } {
  const files = globSync('src/**/*.ts', { cwd: root }).filter((path) => !/\.test\.ts$|suite\.ts$|\/gen\//.test(path));
  const violations = files.flatMap((path) =>
    functionLengths(readFileSync(join(root, path), 'utf8'))
      .filter(({ ownLines }) => ownLines > maxOwnLines)
      .map(({ name, line, ownLines }) => `${path}:${line} ${name || 'function'} has ${ownLines} lines of its own`),
  );
  return { files: files.length, violations };
}

if (isMain(import.meta.url)) {
  const { files, violations } = longFunctions(resolve(process.argv[2] ?? repositoryRoot));
  for (const violation of violations) console.error(`${violation}, the most is ${maxOwnLines}`);
  if (files === 0) console.error('no source files to check');
  process.exitCode = violations.length > 0 || files === 0 ? 1 : 0;
}
