import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callSpreads, unboundedSpreads } from './call-spreads.ts';
import { plantTree } from './planted-tree.ts';

const texts = (source: string): string[] => callSpreads(source).map(({ text }) => text);

test('lists of any length in calls are found, whatever is called', () => {
  const source = `
    list.push(...items);
    const most = Math.max(0, ...items.map((item) => item.size));
    const made = new Set(...pairs);
    const inner = (items) => [1].concat(...items);
    list.push(...(wide ? items : []));
    function wrapped(...rest) { return call(...rest.filter(Boolean)); }
    list.push(...[...items]);
  `;
  assert.deepEqual(texts(source), [
    'items',
    'items.map((item) => item.size)',
    'pairs',
    'items',
    'wide ? items : []',
    'rest.filter(Boolean)',
    '[...items]',
  ]);
  assert.equal(callSpreads(source)[0]?.line, 2);
});

test('rest parameters, literal lists, and spreads outside of calls are not reported', () => {
  const source = `
    const wrap = (method) => (...args) => method(...args);
    class Wrapped { call(...given) { return this.inner(first, ...given); } }
    list.push(...[1, 2], ...(wide ? [3] : []));
    const all = [...items];
    const copy = { ...object };
  `;
  assert.deepEqual(texts(source), []);
});

test('a call that is listed with its reason passes, and an unneeded entry fails', () => {
  using tree = plantTree({ 'src/a.ts': 'list.push(...items);', 'src/a.test.ts': 'list.push(...others);' });
  assert.deepEqual(unboundedSpreads(tree.root), ['src/a.ts:1 spreads a list of any length into a call: items']);
  assert.deepEqual(unboundedSpreads(tree.root, new Map([['src/a.ts items', 'short']])), []);
  assert.deepEqual(
    unboundedSpreads(
      tree.root,
      new Map([
        ['src/a.ts items', 'short'],
        ['src/b.ts x', 'gone'],
      ]),
    ),
    ['src/b.ts x is gone: delete it from BOUNDED'],
  );
});
