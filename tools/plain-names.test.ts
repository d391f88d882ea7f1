import assert from 'node:assert/strict';
import { test } from 'node:test';

import { privateNames, privateNamesBelow } from './plain-names.ts';
import { plantTree } from './planted-tree.ts';

const PRIVATE: readonly (readonly [source: string, name: string])[] = [
  ['const told = 1;', 'told'],
  ['function sayTheSame() {}', 'sayTheSame'],
  ['function f(given: string) {}', 'given'],
  ['const f = ({ a: { look } }) => look;', 'look'],
  ['const [a, ...judged] = list;', 'judged'],
  ['function f(a, { b: wish = 1 } = {}) {}', 'wish'],
  ['const MAX_TOLD = 3;', 'MAX_TOLD'],
  ['interface Wish {}', 'Wish'],
  ['interface A { readonly notToldYet: number; tell(): void }', 'notToldYet'],
  ['interface A { tell(): void }', 'tell'],
  ['class A { #told = 0; }', 'told'],
  ['class A { look(): void {} }', 'look'],
  ['const a = { say: 1 };', 'say'],
  ['type NoExecuteWish = string;', 'NoExecuteWish'],
  ["import { a as said } from './a.ts';", 'said'],
  ['type A = [told: string];', 'told'],
  ['class Deed {}', 'Deed'],
];

const PLAIN: readonly string[] = [
  'const lookUp = 1; const lookedUp = 2; const LOOKED_UP = 3;',
  'const essay = 1; const wishbone = 2;',
  'answer.told; answer.say();',
  "const a = 'told';",
  'const lookedAt = 1;',
  '// told\nconst metrics = 1;',
];

test('names with private words are found in all declarations', () => {
  for (const [source, name] of PRIVATE)
    assert.deepEqual(
      privateNames(source).map((found) => found.name),
      source.includes('notToldYet') ? ['notToldYet', 'tell'] : [name],
      source,
    );
});

test('uses of names, other words and published fields are not reported', () => {
  for (const source of PLAIN) assert.deepEqual(privateNames(source), [], source);
});

test('tests and generated files are exempt, and positions have lines', () => {
  using tree = plantTree({
    'src/a.ts': 'export const a = 1;\nexport const told = 2;\n',
    'src/a.test.ts': 'const told = 1;\n',
    'src/gen/b.ts': 'const told = 1;\n',
    'src/c.tsx': 'export const c = <p>{((look) => look)(1)}</p>;\n',
  });
  assert.deepEqual(privateNamesBelow(tree.root), ['src/a.ts:2 told', 'src/c.tsx:1 look']);
});
