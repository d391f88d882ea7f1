import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sortValue } from '../../api/cell-value.ts';
import type { Cell, Row } from '../../api/table.ts';
import { rowWindow, scrollTo } from '../../parts/virtual-window.ts';
import { shownColumns, widthOf } from './columns.ts';
import { matches, parseFilter } from '../../parts/filter.ts';
import { comparing, parseSort, sortText } from './sorting.ts';

const row = (name: string, cells: readonly Cell[], createdMs = 0): Row => ({
  uid: name,
  namespace: 'shop',
  name,
  createdMs,
  deleting: false,
  labels: { app: 'web', tier: 'x' },
  cells: [name, ...cells],
});

test('the filter field has words, negated words and selectors', () => {
  const filter = parseFilter('Web -l app=web,tier!=x !crash -fstatus.phase=Running -l a in');
  assert.deepEqual(filter, {
    words: ['web', 'in'],
    without: ['crash'],
    labelSelector: 'app=web,tier!=x,a',
    fieldSelector: 'status.phase=Running',
  });
  assert.deepEqual(parseFilter(' ! -l '), { words: [], without: [], labelSelector: '', fieldSelector: '' });
  assert.ok(matches(parseFilter('SHOP run'), row('a', ['Running'])));
  assert.ok(!matches(parseFilter('run !shop'), row('a', ['Running'])));
  assert.ok(!matches(parseFilter('other'), row('a', ['Running'])));
});

test('cells are ordered by their values', () => {
  const ordered: readonly (readonly Cell[])[] = [
    ['9s', '2m1s', '3m', '2h', '1d2h', '3d', '2y1d'],
    ['0/1', '1/1', '10/10'],
    [0, '2 (5m ago)', '10 (3h ago)'],
    ['512Ki', '1Mi', '1500Ki', '2Gi'],
    [5, '', 'Apple', 'banana'],
  ];
  for (const cells of ordered) {
    const values = cells.map(sortValue);
    const sorted = values.toSorted((a, b) => {
      if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1;
      return a < b ? -1 : Number(a > b);
    });
    assert.deepEqual(sorted, values, cells.join());
  }
});

test('columns are the server’s, with namespace and labels around them', () => {
  const definitions = ['Name', 'Status', 'Age', 'Node Name'].map((name, index) => ({
    name,
    type: 'string',
    description: '',
    wide: index === 3,
  }));
  const columns = shownColumns(definitions, true);
  assert.deepEqual(
    columns.map(({ id, role, byDefault }) => [id, role, byDefault]),
    [
      ['namespace', 'namespace', true],
      ['name', 'name', true],
      ['status', 'cell', true],
      ['age', 'age', true],
      ['node-name', 'cell', false],
      ['labels', 'labels', false],
    ],
  );
  const rows = [row('young', ['Running'], 2000), row('old', ['Pending'], 1000)];
  const age = columns.find(({ role }) => role === 'age')!;
  assert.deepEqual(
    rows.toSorted(comparing(age, false)).map(({ name }) => name),
    ['young', 'old'],
  );
  assert.deepEqual(
    rows.toSorted(comparing(columns[2]!, true)).map(({ name }) => name),
    ['young', 'old'],
  );
  assert.equal(columns.at(-1)!.cell(rows[0]!), 'app=web,tier=x');
  assert.equal(widthOf(columns[1]!, [row('x'.repeat(300), [])]), 52);
  // A badge has room for its shape and padding.
  assert.equal(
    widthOf(columns[2]!, [row('a', ['Terminating'])]) - widthOf(columns[2]!, [row('a', ['plain words'])]),
    4,
  );
  for (const text of ['name', '-age']) assert.equal(sortText(parseSort(text)), text);
});

test('the visible rows and the scroll position of a row are computed', () => {
  const viewport = { scrollTop: 2800, height: 280 };
  assert.deepEqual(rowWindow(viewport, 28, 50_000), { first: 92, end: 118 });
  assert.deepEqual(rowWindow(viewport, 28, 3), { first: 0, end: 3 });
  assert.deepEqual(rowWindow({ scrollTop: 0, height: 0 }, 28, 0), { first: 0, end: 0 });
  assert.equal(scrollTo(105, viewport, 28), 2800);
  assert.equal(scrollTo(99, viewport, 28), 2772);
  assert.equal(scrollTo(110, viewport, 28), 2828);
});
