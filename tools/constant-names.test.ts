import assert from 'node:assert/strict';
import { test } from 'node:test';

import { misnamedConstants, misnamedConstantsBelow } from './constant-names.ts';
import { plantTree } from './planted-tree.ts';

const SCALARS: readonly string[] = [
  "const a = 'text';",
  'export const a = 10;',
  'const a: number = -10;',
  'const a = 10n;',
  'const a = true;',
  'const a = /^x$/g;',
  'const a = `${MAX_BYTES} bytes`;',
  'const a = 2 * 60 * 1000;',
  'const a = MAX_BYTES + 1;',
  "const a = 'text' as const;",
  'const aB = 1, C_D = 2;',
];

const TABLES: readonly string[] = [
  "const a: readonly string[] = ['x', 'y'];",
  'const a = { x: 1, y: [2, MAX_BYTES] } as const satisfies Table;',
  "const a = new Set(['x']);",
  "const a = new Map([['x', { y: 1 }]]);",
  "const a = 'x y'.split(' ');",
];

const VARIABLES: readonly string[] = [
  'const MAX_BYTES = 10;',
  'const FLAGS = [1];',
  'const BASE64_URL = /^x$/;',
  'let a = 10;',
  'function f() { const a = 10; }',
  'const a = null;',
  'const a = f(10);',
  'const a = other + 1;',
  'const a = 1 < 2;',
  'const a = `${other} bytes`;',
  'const a = [];',
  'const a = new Map();',
  'const a = new Set(others);',
  'const a = { x: () => 1 };',
  'const a = { ...others, x: 1 };',
  'const a = [, 1, other];',
];

test('a literal value has a name in capitals', () => {
  for (const source of SCALARS) assert.equal(misnamedConstants(source, false).length, 1, source);
});

test('a table of literal values has a name in capitals in the product', () => {
  for (const source of TABLES) {
    assert.equal(misnamedConstants(source, true).length, 1, source);
    assert.deepEqual(misnamedConstants(source, false), [], source);
  }
});

test('results of functions, changing values and references are named like variables', () => {
  for (const source of VARIABLES) assert.deepEqual(misnamedConstants(source, true), [], source);
});

test('a name in capitals has single underscores', () => {
  const names = ['maxBytes', 'Max', 'MAX_', 'MAX__BYTES', '_MAX', 'MaxBYTES'];
  for (const name of names) {
    const found = misnamedConstants(`const ${name} = 1;`, false);
    assert.deepEqual(found, [{ name, start: 6 }]);
  }
});

test('tables are checked only in the product, and generated files are skipped', () => {
  const source = "const limit = 1;\nconst words = ['x'];\n";
  using tree = plantTree({
    'src/api/gen/bad.ts': source,
    'src/base/bad.ts': source,
    'src/base/bad.test.ts': source,
    'tools/bad.ts': source,
  });
  const names = [...misnamedConstantsBelow(tree.root)].map(([path, misnamed]) => [
    path,
    misnamed.map(({ name }) => name),
  ]);
  assert.deepEqual(names, [
    ['src/base/bad.test.ts', ['limit']],
    ['src/base/bad.ts', ['limit', 'words']],
    ['tools/bad.ts', ['limit']],
  ]);
});
