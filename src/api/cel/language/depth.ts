/** Refuses expressions that are nested too deep for the compiler and the evaluator, which are recursive. */
import { childrenOf, type Expr } from './expr.ts';
import type { Issue } from './source.ts';

/** The maximum number of levels of nested expressions, and of chained operators and selections. */
export const MAX_DEPTH = 250;

const SHALLOW: ReadonlySet<string> = new Set(['_&&_', '_||_', '!_', '-_']);

function isDeep(expr: Expr): boolean {
  return expr.kind === 'select' || expr.kind === 'fold' || (expr.kind === 'call' && !SHALLOW.has(expr.name));
}

export function depthIssues(root: Expr): Issue[] {
  const waiting: [Expr, number][] = [[root, 0]];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [expr, above] = next;
    const depth = above + (isDeep(expr) ? 1 : 0);
    if (depth > MAX_DEPTH) return [{ at: -1, message: 'max recursion depth exceeded' }];
    for (const child of childrenOf(expr)) waiting.push([child, depth]);
  }
  return [];
}
