/**
 * No component writes a condition without a reason and a message, in states too that no scenario reaches (`test/sim/conditions.test.ts`
 * holds what scenarios reach): an object with a type and a condition's status has both, or takes them from elsewhere by a spread.
 * `why` writes none.
 */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parseAst } from 'rolldown/parseAst';
import { repositoryRoot } from './repository.ts';

interface AstNode {
  readonly type: string;
  readonly start: number;
  readonly [field: string]: unknown;
}

const STATUSES: ReadonlySet<unknown> = new Set(['True', 'False', 'Unknown']);

/** The offsets of objects that are conditions without a reason or a message. */
function bareConditions(source: string): number[] {
  const found: number[] = [];
  const visit = (node: AstNode): void => {
    if (node.type === 'ObjectExpression' && isBare(node['properties'] as readonly AstNode[])) found.push(node.start);
    for (const value of Object.values(node)) nodesIn(value).forEach(visit);
  };
  visit(parseAst(source, { lang: 'ts' }) as unknown as AstNode);
  return found;
}

function isBare(properties: readonly AstNode[]): boolean {
  if (properties.some(({ type }) => type === 'SpreadElement')) return false;
  const values = new Map(properties.map(({ key, value }) => [(key as { name?: string }).name, value as AstNode]));
  const status = values.get('status');
  if (status === undefined || !values.has('type') || !isConditionStatus(status)) return false;
  return !values.has('reason') || !values.has('message');
}

/** `'True'`, or a choice of such. */
function isConditionStatus(node: AstNode): boolean {
  if (node.type === 'ConditionalExpression')
    return isConditionStatus(node['consequent'] as AstNode) && isConditionStatus(node['alternate'] as AstNode);
  return node.type === 'Literal' && STATUSES.has(node['value']);
}

function nodesIn(value: unknown): AstNode[] {
  if (Array.isArray(value)) return value.flatMap(nodesIn);
  return typeof value === 'object' && value !== null && 'type' in value ? [value as AstNode] : [];
}

describe('conditions in the sources', () => {
  it('have reason and message', () => {
    const files = globSync('src/**/*.ts', { cwd: repositoryRoot }).filter(
      (file) => !/^src\/why\/|\.test\.ts$|-fixture\.ts$|-suite\.ts$|\/gen\//.test(file),
    );
    const bare = files.flatMap((file) => {
      const source = readFileSync(join(repositoryRoot, file), 'utf8');
      if (!/'(?:True|False|Unknown)'/.test(source)) return [];
      return bareConditions(source).map((start) => `${file}:${source.slice(0, start).split('\n').length}`);
    });
    assert.deepEqual(bare, []);
  });

  it('without one are found', () => {
    const bare = [
      `{ type: 'Ready', status: 'True' }`,
      `{ type, status: isReady ? 'True' : 'False', reason: 'Ready' }`,
      `{ type: 'Ready', status: 'Unknown', message: 'm' }`,
    ];
    for (const text of bare) assert.equal(bareConditions(`write(${text})`).length, 1, text);
    const whole = [
      `{ type, status: 'True', reason, message }`,
      `{ type, status: 'True', ...text }`,
      `{ type: 'a', status: 'Running' }`,
      `{ type: 'a', status }`,
    ];
    for (const text of whole) assert.equal(bareConditions(`write(${text})`).length, 0, text);
  });
});
