// Refuses `push(...list)` and similar calls in the product: a call with more than about 120,000 arguments throws a RangeError,
// and lists of clients or of the cluster can be that long. `appendAll`, `largest` and `smallest` (src/base/lists.ts) accept lists
// of any length. A function may spread its own rest parameter, and a literal list. Calls whose list is always short are in
// `BOUNDED` with the reason.
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { parseAst } from 'rolldown/parseAst';

import { isMain, repositoryRoot } from './repository.ts';

/** Calls whose list is short, as `path text of the list`, with the reason. An unneeded entry fails the check. */
const BOUNDED: ReadonlyMap<string, string> = new Map([
  ['src/proxy/nft-script.ts fixedRules(config)', 'the rules that every table has'],
  ["src/kubelet/volumes/host-path-check.ts target.split('/')", 'the kernel ends a link at 4,096 bytes'],
  ["src/kubelet/server/join-below.ts target.split('/')", 'the kernel ends a link at 4,096 bytes'],
  ["src/kubelet/runtime/subpath.ts target.slice(root.length).split('/')", 'the kernel ends a link at 4,096 bytes'],
  ["src/kubelet/runtime/subpath.ts target.split('/')", 'the kernel ends a link at 4,096 bytes'],
  ['src/kubelet/stats/resource-metrics.ts nodeUsage(snapshot)', 'the families of a node are written out'],
  ['src/kubelet/runtime/container-runtime.ts answers', 'a pair'],
  ['src/controllers/disruption/disruption-controller.ts owners', 'the informers of the kinds that own pods'],
  ['src/component-helpers/pki/write-certificate.ts head', 'the fields of a certificate'],
  ['src/component-helpers/pki/write-certificate.ts extensions', 'the extensions of a certificate of our own'],
  ['src/component-helpers/pki/write-certificate.ts wanted', 'the extensions of a request of our own'],
  ['src/component-helpers/pki/write-certificate.ts numbers', 'the numbers of a key'],
  [
    'src/component-helpers/pki/write-certificate.ts organizations.map((name) => part(OID.organization, name))',
    'the groups of a component',
  ],
  ['src/component-helpers/pki/write-certificate.ts purposes', 'there are two'],
  [
    'src/component-helpers/pki/write-certificate.ts names',
    'the addresses of this machine and those of the command line',
  ],
  ['src/component-helpers/pki/write-certificate.ts flag', 'one or none'],
  ['src/apiserver/bootstrap/component-roles.ts EVENTS', 'written out'],
  ['src/apiserver/bootstrap/controller-roles.ts EVENTS', 'written out'],
  ['src/apiserver/bootstrap/user-roles.ts EDIT', 'written out'],
  ['src/apiserver/bootstrap/user-roles.ts VIEW', 'written out'],
  ['src/api/cel/runtime/call.ts args', 'as many as the operands of the overload that took them'],
  ['src/api/cel/cost/call-estimate.ts masked', 'two or none'],
]);

interface AstNode {
  readonly type: string;
  readonly start: number;
  readonly [field: string]: unknown;
}

/** A list that is spread into a call. */
export interface CallSpread {
  readonly line: number;
  /** The source text of the list. */
  readonly text: string;
}

/** The spreads of a TypeScript source whose lists may have any length. @throws Error when the source does not parse */
export function callSpreads(source: string, lang: 'ts' | 'tsx' = 'ts'): CallSpread[] {
  const found: CallSpread[] = [];
  const visit = (node: AstNode, rest: ReadonlySet<string>): void => {
    const known = 'params' in node ? new Set([...rest, ...restNames(node)]) : rest;
    if (node.type === 'CallExpression' || node.type === 'NewExpression') {
      for (const argument of node['arguments'] as AstNode[]) {
        if (argument.type !== 'SpreadElement') continue;
        const list = argument['argument'] as AstNode & { end: number };
        if (isShort(list, known)) continue;
        found.push({
          line: source.slice(0, argument.start).split('\n').length,
          text: source.slice(list.start, list.end).replaceAll(/\s+/g, ' '),
        });
      }
    }
    for (const child of children(node)) visit(child, known);
  };
  visit(parseAst(source, { lang }) as unknown as AstNode, new Set());
  return found;
}

function isShort(list: AstNode, rest: ReadonlySet<string>): boolean {
  if (list.type === 'Identifier') return rest.has(list['name'] as string);
  if (list.type === 'ConditionalExpression')
    return isShort(list['consequent'] as AstNode, rest) && isShort(list['alternate'] as AstNode, rest);
  if (list.type !== 'ArrayExpression') return false;
  const elements = list['elements'] as (AstNode | null)[];
  return elements.every(
    (element) => element === null || element.type !== 'SpreadElement' || isShort(element['argument'] as AstNode, rest),
  );
}

function restNames(node: AstNode): string[] {
  // Functions have a list of parameters; function types have none with values.
  const params = node['params'];
  if (!Array.isArray(params)) return [];
  return (params as AstNode[]).flatMap((param) => {
    const argument = param.type === 'RestElement' ? (param['argument'] as AstNode) : undefined;
    return argument?.type === 'Identifier' ? [argument['name'] as string] : [];
  });
}

function* children(node: AstNode): Generator<AstNode> {
  for (const value of Object.values(node))
    for (const item of Array.isArray(value) ? value : [value])
      if (typeof (item as AstNode | null)?.type === 'string') yield item as AstNode;
}

/** Spreads below `root`/src that `bounded` does not list, as `path:line text`; tests are exempt. */
export function unboundedSpreads(root: string, bounded: ReadonlyMap<string, string> = new Map()): string[] {
  const unused = new Set(bounded.keys());
  const exclude = (path: string): boolean => /\/gen$|\.test\.ts$|-fixture\.ts$|-suite\.ts$/.test(path);
  const violations = globSync('src/**/*.{ts,tsx}', { cwd: root, exclude }).flatMap((path) =>
    callSpreads(readFileSync(join(root, path), 'utf8'), path.endsWith('x') ? 'tsx' : 'ts').flatMap(({ line, text }) => {
      unused.delete(`${path} ${text}`);
      return bounded.has(`${path} ${text}`)
        ? []
        : [`${path}:${line} spreads a list of any length into a call: ${text}`];
    }),
  );
  return [...violations, ...[...unused].map((entry) => `${entry} is gone: delete it from BOUNDED`)];
}

if (isMain(import.meta.url)) {
  const violations = unboundedSpreads(resolve(process.argv[2] ?? repositoryRoot), BOUNDED);
  for (const violation of violations) console.error(violation);
  process.exitCode = violations.length > 0 ? 1 : 0;
}
