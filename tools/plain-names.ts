// Finds names of the product in private vocabulary: verbs of telling and judging for things that upstream names by nouns (`told`
// for metrics, `wish` for desired replicas, `look` for an observation). CONTRIBUTING.md lists the replacements. Every declared
// name counts: variables, parameters, properties, functions, types, renamed imports.
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { parseAst } from 'rolldown/parseAst';

import { isMain, repositoryRoot } from './repository.ts';

interface AstNode {
  readonly type: string;
  readonly start: number;
  readonly [field: string]: unknown;
}

export interface PrivateName {
  readonly name: string;
  readonly start: number;
}

const PRIVATE_WORDS: ReadonlySet<string> = new Set(
  'told tell tells say says said look looks looked wish wishes wished judge judges judged given deed deeds'.split(' '),
);

/** Published names: fields of responses and words of scenarios. */
const PUBLISHED: ReadonlySet<string> = new Set(['lookedAt', 'notLookedAt', 'says']);

/** The fields of syntax tree nodes that hold the name that the node declares. */
const DECLARED: Readonly<Record<string, readonly string[]>> = {
  VariableDeclarator: ['id'],
  FunctionDeclaration: ['id', 'params'],
  FunctionExpression: ['params'],
  ArrowFunctionExpression: ['params'],
  TSEmptyBodyFunctionExpression: ['params'],
  TSFunctionType: ['params'],
  TSMethodSignature: ['key', 'params'],
  TSPropertySignature: ['key'],
  PropertyDefinition: ['key'],
  MethodDefinition: ['key'],
  Property: ['key'],
  ClassDeclaration: ['id'],
  TSInterfaceDeclaration: ['id'],
  TSTypeAliasDeclaration: ['id'],
  ImportSpecifier: ['local'],
  CatchClause: ['param'],
  TSNamedTupleMember: ['label'],
};

/** The private names that a source declares. @throws Error when the source does not parse */
export function privateNames(source: string, lang: 'ts' | 'tsx' = 'ts'): PrivateName[] {
  const found = new Map<number, PrivateName>();
  const visit = (node: AstNode): void => {
    for (const field of DECLARED[node.type] ?? [])
      for (const declared of nodesIn(node[field]).flatMap(namesIn)) {
        const name = declared['name'] as string;
        if (isPrivate(name)) found.set(declared.start, { name, start: declared.start });
      }
    for (const value of Object.values(node)) nodesIn(value).forEach(visit);
  };
  visit(parseAst(source, { lang }) as unknown as AstNode);
  return [...found.values()];
}

function nodesIn(value: unknown): AstNode[] {
  return [value].flat().filter((node): node is AstNode => typeof (node as AstNode | null)?.type === 'string');
}

/** The identifiers of a declared name or pattern. */
function namesIn(node: AstNode): AstNode[] {
  switch (node.type) {
    case 'Identifier':
    case 'PrivateIdentifier':
      return [node];
    case 'ArrayPattern':
      return nodesIn(node['elements']).flatMap(namesIn);
    case 'ObjectPattern':
      return nodesIn(node['properties']).flatMap((property) => nodesIn(property['value']).flatMap(namesIn));
    case 'AssignmentPattern':
      return nodesIn(node['left']).flatMap(namesIn);
    case 'RestElement':
      return nodesIn(node['argument']).flatMap(namesIn);
    default:
      return [];
  }
}

function isPrivate(name: string): boolean {
  const words = name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter((word) => word !== '');
  // `lookUp` is a common word.
  return (
    !PUBLISHED.has(name) &&
    words.some((word, at) => PRIVATE_WORDS.has(word) && !(word.startsWith('look') && words[at + 1] === 'up'))
  );
}

/** The private names of the product below `root`, as `path:line name`; generated files and tests are exempt. */
export function privateNamesBelow(root: string): readonly string[] {
  return globSync('src/**/*.{ts,tsx}', { cwd: root })
    .filter((path) => !/\/gen\/|(?:\.test|-fixture|-suite)\.tsx?$|\.d\.ts$/.test(path))
    .sort()
    .flatMap((path) => {
      const source = readFileSync(join(root, path), 'utf8');
      const lineOf = (at: number): number => source.slice(0, at).split('\n').length;
      return privateNames(source, path.endsWith('x') ? 'tsx' : 'ts').map(
        ({ name, start }) => `${path}:${lineOf(start)} ${name}`,
      );
    });
}

if (isMain(import.meta.url)) {
  for (const found of privateNamesBelow(resolve(process.argv[2] ?? repositoryRoot))) {
    console.error(`${found}: name it as upstream does (CONTRIBUTING.md, plain words)`);
    process.exitCode = 1;
  }
}
