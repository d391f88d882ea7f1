import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { LogBuffer, type LogLine } from './log-buffer.ts';

const line = (timeMs: number, text: string, source = 0): LogLine => ({
  source,
  timeMs,
  text,
  spans: [],
  plain: true,
});
const textsOf = (buffer: LogBuffer): readonly string[] =>
  Array.from({ length: buffer.length }, (_, index) => buffer.at(index).text);

test('lines of several logs are in the order of their times', () => {
  const buffer = new LogBuffer();
  buffer.add([line(1, 'a'), line(5, 'b'), line(5, 'c')]);
  assert.equal(buffer.takeChanged(), 0);
  buffer.add([line(6, 'd')]);
  assert.equal(buffer.takeChanged(), 3);
  buffer.add([line(2, 'x', 1), line(5, 'y', 1), line(9, 'z', 1)]);
  assert.deepEqual(textsOf(buffer), ['a', 'x', 'b', 'c', 'y', 'd', 'z']);
  assert.equal(buffer.takeChanged(), 1);
});

test('the oldest lines are dropped when there are too many, or too many characters', () => {
  const buffer = new LogBuffer({ lines: 3, characters: 10_000 });
  buffer.add(['a', 'b', 'c', 'd', 'e'].map((text, index) => line(index, text)));
  assert.deepEqual([textsOf(buffer), buffer.dropped], [['c', 'd', 'e'], 2]);
  buffer.add([line(9, 'x'.repeat(9950))]);
  assert.deepEqual([buffer.length, buffer.dropped], [1, 5]);
  buffer.clear();
  assert.deepEqual([buffer.length, buffer.dropped], [0, 0]);
});

test('after any input the newest lines are kept in order, and line numbers stay the same', () => {
  const batches = fc.array(fc.array(fc.nat(50), { maxLength: 30 }), { maxLength: 30 });
  fc.assert(
    fc.property(batches, (times) => {
      const buffer = new LogBuffer({ lines: 20, characters: 1_000_000 });
      let total = 0;
      for (const batch of times) {
        buffer.add(batch.map((timeMs) => line(timeMs, `${timeMs}`)));
        total += batch.length;
        assert.equal(buffer.length + buffer.dropped, total);
        assert.ok(buffer.length <= 20);
        const kept = textsOf(buffer).map(Number);
        assert.deepEqual(
          kept,
          kept.toSorted((a, b) => a - b),
        );
      }
    }),
  );
});
