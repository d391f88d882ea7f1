import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LogBuffer, type LogLine } from './log-buffer.ts';
import { LogSearch, marksIn } from './search.ts';

const line = (timeMs: number, text: string): LogLine => ({ source: 0, timeMs, text, spans: [], plain: true });

test('the search is literal and ignores case', () => {
  assert.deepEqual(marksIn('a.b A.B axb', 'a.b'), [
    { start: 0, end: 3 },
    { start: 4, end: 7 },
  ]);
  assert.deepEqual(marksIn('(x', '('), [{ start: 0, end: 1 }]);
  assert.deepEqual(marksIn('x', ''), []);
  assert.equal(marksIn('x'.repeat(9000), 'x').length, 1000);
});

test('matches follow added, inserted and dropped lines', () => {
  const buffer = new LogBuffer({ lines: 4, characters: 1e6 });
  const search = new LogSearch();
  const found = (): readonly string[] => {
    while (!search.advance(buffer, buffer.takeChanged()));
    return search.matches.map((number) => buffer.at(number - buffer.dropped).text);
  };
  buffer.add([line(1, 'x1'), line(3, 'y'), line(5, 'x5')]);
  assert.deepEqual(found(), []);
  search.set('X');
  assert.deepEqual(found(), ['x1', 'x5']);
  buffer.add([line(4, 'x4')]);
  assert.deepEqual(found(), ['x1', 'x4', 'x5']);
  buffer.add([line(6, 'x6')]);
  assert.deepEqual(found(), ['x4', 'x5', 'x6']);
  buffer.add(Array.from({ length: 50 }, (_, index) => line(10 + index, `z${index}`)));
  assert.deepEqual(found(), []);
});

test('a long log is searched in slices', () => {
  const buffer = new LogBuffer();
  buffer.add(Array.from({ length: 50_000 }, (_, index) => line(index, 'x')));
  const search = new LogSearch();
  search.set('x');
  assert.equal(search.advance(buffer, buffer.takeChanged()), false);
  assert.equal(search.matches.length, 20_000);
  while (!search.advance(buffer, buffer.takeChanged()));
  assert.equal(search.matches.length, 50_000);
});
