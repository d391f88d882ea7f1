// Checks the names of modules' constants. A `const` at the top of a module with a literal value is `SCREAMING_CASE`:
// - numbers, strings, booleans, regular expressions, and arithmetic or templates of those, in all sources;
// - tables (arrays, objects, sets and maps with entries, all of them such values or tables), in the product. Tests and tools name
//   the objects that they pass around like variables. A table of functions, or of objects created elsewhere, is named like a
//   variable.
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { parseAst } from 'rolldown/parseAst';

import { isMain, repositoryRoot } from './repository.ts';

interface AstNode {
  readonly type: string;
  readonly start: number;
  readonly [field: string]: unknown;
}

/** A constant whose name is not in capitals. */
export interface MisnamedConstant {
  readonly name: string;
  readonly start: number;
}

const SCREAMING_CASE = /^[A-Z][A-Z\d]*(?:_[A-Z\d]+)*$/;
const ARITHMETIC: ReadonlySet<unknown> = new Set(['+', '-', '*', '/', '%', '**', '<<', '>>', '>>>', '|', '&', '^']);
const PRODUCT = /^src\/(?!.*(?:\.test|-fixture|-suite)\.ts$)/;
const GENERATED = /\/gen\//;

/** The constants of a TypeScript source that should be `SCREAMING_CASE`. @throws Error when the source does not parse */
export function misnamedConstants(source: string, withTables: boolean): MisnamedConstant[] {
  const { body } = parseAst(source, { lang: 'ts' }) as unknown as { body: AstNode[] };
  return body
    .map((statement) => (statement.type === 'ExportNamedDeclaration' ? nodeAt(statement, 'declaration') : statement))
    .filter((declaration) => declaration?.type === 'VariableDeclaration' && declaration['kind'] === 'const')
    .flatMap((declaration) => nodesAt(declaration!, 'declarations'))
    .filter((declarator) => {
      const value = nodeAt(declarator, 'init');
      return isScalar(value) || (withTables && isTable(value));
    })
    .map((declarator) => nodeAt(declarator, 'id')!)
    .filter((id) => id.type === 'Identifier' && !SCREAMING_CASE.test(id['name'] as string))
    .map((id) => ({ name: id['name'] as string, start: id.start }));
}

function isScalar(given: AstNode | undefined): boolean {
  const node = withoutType(given);
  switch (node?.type) {
    case 'Literal':
      return node['value'] !== null || node['regex'] !== undefined || node['bigint'] !== undefined;
    case 'TemplateLiteral':
      return nodesAt(node, 'expressions').every(isScalarOrConstant);
    case 'UnaryExpression':
      return isScalarOrConstant(nodeAt(node, 'argument'));
    case 'BinaryExpression':
      return (
        ARITHMETIC.has(node['operator']) && ['left', 'right'].every((side) => isScalarOrConstant(nodeAt(node, side)))
      );
    default:
      return false;
  }
}

function isScalarOrConstant(node: AstNode | undefined): boolean {
  const bare = withoutType(node);
  return isScalar(bare) || (bare?.type === 'Identifier' && SCREAMING_CASE.test(bare['name'] as string));
}

function isTable(given: AstNode | undefined): boolean {
  const node = withoutType(given);
  switch (node?.type) {
    case 'ArrayExpression':
      return isFilled(nodesAt(node, 'elements'), (element) => isEntry(element));
    case 'ObjectExpression':
      return isFilled(nodesAt(node, 'properties'), (property) => isEntry(nodeAt(property, 'value')));
    case 'NewExpression': {
      const isCollection = ['Set', 'Map'].includes(nodeAt(node, 'callee')?.['name'] as string);
      return isCollection && isTable(nodesAt(node, 'arguments')[0]);
    }
    case 'CallExpression':
      return isSplitText(node);
    default:
      return false;
  }
}

function isFilled(entries: readonly AstNode[], isRight: (entry: AstNode) => boolean): boolean {
  return entries.length > 0 && entries.every(isRight);
}

function isEntry(node: AstNode | undefined): boolean {
  return isScalarOrConstant(node) || isTable(node);
}

/** `'first second'.split(' ')` counts as a literal list, too. */
function isSplitText(call: AstNode): boolean {
  const callee = nodeAt(call, 'callee')!;
  return nodeAt(callee, 'property')?.['name'] === 'split' && isScalar(nodeAt(callee, 'object'));
}

/** The value without `as const`, `satisfies` and similar. */
function withoutType(node: AstNode | undefined): AstNode | undefined {
  return node !== undefined && /^TS(?:As|Satisfies|NonNull)Expression$/.test(node.type)
    ? withoutType(nodeAt(node, 'expression'))
    : node;
}

function nodeAt(node: AstNode, field: string): AstNode | undefined {
  return (node[field] as AstNode | null) ?? undefined;
}

function nodesAt(node: AstNode, field: string): AstNode[] {
  return (node[field] as (AstNode | null)[]).map((entry) => entry ?? { type: 'Hole', start: node.start });
}

/** The misnamed constants below `root`, by relative path; generated files are exempt. */
export function misnamedConstantsBelow(root: string): ReadonlyMap<string, readonly MisnamedConstant[]> {
  const paths = globSync(
    ['src', 'tools', 'test', 'bench', 'examples'].map((folder) => `${folder}/**/*.ts`),
    { cwd: root },
  );
  return new Map(
    paths
      .filter((path) => !GENERATED.test(path))
      .sort()
      .map((path) => [path, misnamedConstants(readFileSync(join(root, path), 'utf8'), PRODUCT.test(path))] as const)
      .filter(([, misnamed]) => misnamed.length > 0),
  );
}

if (isMain(import.meta.url)) {
  for (const [path, misnamed] of misnamedConstantsBelow(resolve(process.argv[2] ?? repositoryRoot)))
    for (const { name } of misnamed) {
      console.error(`${path} ${name}: a constant that is written out is named in SCREAMING_CASE`);
      process.exitCode = 1;
    }
}
