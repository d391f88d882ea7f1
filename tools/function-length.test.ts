import assert from 'node:assert/strict';
import { test } from 'node:test';

import { functionLengths, longFunctions, MAX_OWN_LINES, MAX_WHOLE_LINES } from './function-length.ts';
import { plantTree } from './planted-tree.ts';

test('a function has its own lines, and those of the functions inside it', () => {
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
    { name: 'createThing', line: 2, ownLines: 8, wholeLines: 12 },
    { name: 'inner', line: 6, ownLines: 3, wholeLines: 3 },
    { name: 'get', line: 10, ownLines: 3, wholeLines: 3 },
  ]);
});

const body = (lines: number): string => `export function f(): void {\n${'  f();\n'.repeat(lines - 2)}}\n`;

test('functions of the product over the limit are found; those of tests and generated files are not', () => {
  using tree = plantTree({
    'src/api/good.ts': body(MAX_OWN_LINES),
    'src/api/bad.ts': body(MAX_OWN_LINES + 1),
    'src/api/bad.test.ts': body(200),
    'src/api/gen/bad.ts': body(200),
  });
  assert.deepEqual(longFunctions(tree.root), {
    files: 2,
    violations: [`src/api/bad.ts:1 f has ${MAX_OWN_LINES + 1} lines of its own, the most is ${MAX_OWN_LINES}`],
  });
});

/** A factory with few own lines whose inner functions make it `lines` long. */
const factory = (lines: number): string => {
  const inner = (count: number): string => `  const g = (): void => {\n${'    g();\n'.repeat(count - 2)}  };\n`;
  const full = Math.floor((lines - 2) / 40);
  return `export function create(): void {\n${inner(40).repeat(full)}${inner(lines - 2 - full * 40)}}\n`;
};

test('factories over the limit with their inner functions are found, except the listed ones; unneeded entries of the list, too', () => {
  using tree = plantTree({
    'src/api/good.ts': factory(MAX_WHOLE_LINES),
    'src/api/bad.ts': factory(MAX_WHOLE_LINES + 1),
    'src/api/listed.ts': factory(MAX_WHOLE_LINES + 1),
  });
  const { violations } = longFunctions(tree.root, ['src/api/listed.ts create', 'src/api/good.ts create']);
  assert.deepEqual(violations, [
    `src/api/bad.ts:1 create has ${MAX_WHOLE_LINES + 1} lines with the functions inside it, the most is ${MAX_WHOLE_LINES}`,
    'src/api/good.ts create is short enough: delete it from UNDIVIDED',
  ]);
});
