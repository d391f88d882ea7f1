import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Script } from 'node:vm';

import { checkOrder, chunkScript } from './chunk-script.ts';

type Modules = Readonly<Record<string, unknown>>;

/** The exports of a chunk with this text, among modules with these exports. */
function run(text: string, modules: Modules = {}): Record<string, unknown> {
  const require = (name: string): unknown => {
    assert.ok(name in modules, name);
    return modules[name];
  };
  const script = new Script(chunkScript('chunk.js', text).code).runInThisContext() as (
    ...parameters: unknown[]
  ) => Record<string, unknown>;
  return script(require, async (name: string) => require(name), { url: 'file:///dist/chunk.js' });
}

describe('the script of a chunk', () => {
  it('has the imports of a module in their order, before everything else', () => {
    const text = `const first = order.length;
import { o as order } from "./order.js";
import "./effect.js";
import whole, { join as j } from "node:path";
import * as all from "node:fs";
import chunkDefault from "./order.js";
const values = [first, order, whole, j, all, chunkDefault];
export { values, values as "odd name" };
export {};
`;
    const path = { join: 1 };
    const fs = { read: 2 };
    const modules = { './order.js': { o: 'oo', default: 3 }, './effect.js': {}, 'node:path': path, 'node:fs': fs };
    const values = [2, 'oo', path, 1, fs, 3];
    assert.deepEqual(run(text, modules), { values, 'odd name': values });
    assert.deepEqual(chunkScript('chunk.js', text).requires, ['order.js', 'effect.js', 'order.js']);
  });

  it("returns the module's exports once all of it has run", async () => {
    const text = `import { a as mine } from "./a.js";
export { b, c as d } from "./a.js";
export { mine as t, Kind as k };
var Kind = /* @__PURE__ */ (function(Kind) { Kind["x"] = "y"; return Kind; })(Kind || {});
export default [import.meta.url, import("./a.js"), "import(\\"./none.js\\")"];
`;
    const a = { a: 1, b: 2, c: 3 };
    const { default: made, ...exported } = run(text, { './a.js': a });
    assert.deepEqual(exported, { b: 2, d: 3, t: 1, k: { x: 'y' } });
    const [url, lazy, words] = made as [string, Promise<unknown>, string];
    assert.deepEqual([url, await lazy, words], ['file:///dist/chunk.js', a, 'import("./none.js")']);
  });

  it('is strict, and keeps the lines of the text', () => {
    const text =
      'import { a } from "./a.js";\nconst line = () => new Error().stack;\nexport { line };\nexport default this;\n';
    const exported = run(text, { './a.js': {} });
    assert.equal(exported['default'], undefined);
    assert.match((exported['line'] as () => string)(), /evalmachine.*:2:\d+/);
  });

  it('may assign an export at its declaration, and variables of that name inside functions', () => {
    const text = `let counter = 0;
counter = 1;
var Level;
(function(Level) { Level = { ...Level, inner: true }; })(Level || (Level = {}));
function count(counter) { counter += 1; return () => { let Level; [Level] = [counter]; return Level; }; }
export { counter, Level, count };
`;
    const { counter, Level, count } = run(text);
    assert.deepEqual([counter, Level, (count as (start: number) => () => number)(1)()], [1, {}, 2]);
  });

  for (const [what, text, message] of [
    [
      'an export that a function changes',
      'let a = 0;\nconst f = () => { a++; };\nexport { a, f };\n',
      /functions change what it exports: a$/,
    ],
    [
      'one that a pattern changes',
      'var a;\nfunction f() { ({ b: [a = 1] } = {}); }\nexport { a };\n',
      /change what it exports: a$/,
    ],
    [
      'one that a loop changes',
      'var a;\nfunction f() { for (a of []); }\nexport { a };\n',
      /change what it exports: a$/,
    ],
    ['an await at the top level', 'const a = await f();\n', /await is only valid in async functions/],
    [
      'a package that is not bundled',
      'import { a } from "left-pad";\n',
      /left-pad is no chunk and no module of Node\.js$/,
    ],
    ['an import that is made up', 'const f = (name) => import(name);\n', /import\(name\) cannot be linked$/],
    ['an export of another form', 'export const a = 1;\n', /its imports and exports are not those of its lines$/],
    ['an export of everything', 'export * from "./a.js";\n', /its imports and exports are not those of its lines$/],
    [
      'a line of a text that looks like an import',
      'const a = `\nimport "./a.js";\n`;\n',
      /are not those of its lines$/,
    ],
    ['a line of a text that looks like an export', 'const a = `\nexport { a };\n`;\n', /are not those of its lines$/],
    ['what is no JavaScript', 'const = 1;\n', /^chunk\.js: /],
  ] as const)
    it(`cannot have ${what}`, () => {
      assert.throws(() => chunkScript('chunk.js', text), { message });
      assert.throws(() => chunkScript('chunk.js', text), { message: /^chunk\.js: / });
    });

  it('is loaded before its importers: chunks that import each other are refused', () => {
    const script = (...requires: string[]) => ({ code: '', requires });
    const scripts = new Map([
      ['a', script('b', 'c')],
      ['b', script('c')],
      ['c', script()],
    ]);
    checkOrder(scripts);
    scripts.set('c', script('b'));
    assert.throws(() => checkOrder(scripts), { message: 'chunks import each other: a > b > c > b' });
  });
});
