import assert from 'node:assert/strict';
import { test } from 'node:test';

import { functionLengths, longFunctions, maxOwnLines } from './function-length.ts';
import { plantTree } from './planted-tree.ts';

test('a function is as long as its own lines', () => {
  const source = `
export function createThing(deps: object): object {
  const a = 1;
  // a comment

  const inner = (): number => {
    return a;
  };
  return {
    get(): number {
      return inner();
    },
    deps,
  };
}
`;
  assert.deepEqual(functionLengths(source), [
    { name: 'createThing', line: 2, ownLines: 8 },
    { name: 'inner', line: 6, ownLines: 3 },
    { name: 'get', line: 10, ownLines: 3 },
  ]);
});

const body = (lines: number): string => `export function f(): void {\n${'  f();\n'.repeat(lines - 2)}}\n`;

test('functions of the product over the limit are found, those of tests and generated files not', () => {
  using tree = plantTree({
    'src/api/good.ts': body(maxOwnLines),
    'src/api/bad.ts': body(maxOwnLines + 1),
    'src/api/bad.test.ts': body(200),
    'src/api/gen/bad.ts': body(200),
  });
  assert.deepEqual(longFunctions(tree.root), {
    files: 2,
    violations: [`src/api/bad.ts:1 f has ${maxOwnLines + 1} lines of its own`],
  });
});
