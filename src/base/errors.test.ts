import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { aggregateText, errorMessage, hasErrorCode } from './errors.ts';

describe('Caught values', () => {
  const rows: readonly [unknown, string, boolean][] = [
    [new Error('broken'), 'broken', false],
    [Object.assign(new Error('gone'), { code: 'ENOENT' }), 'gone', true],
    [Object.assign(new Error('gone'), { code: 2 }), 'gone', false],
    [{ code: 'ENOENT' }, '[object Object]', true],
    ['text', 'text', false],
    [undefined, 'undefined', false],
    [null, 'null', false],
  ];
  for (const [error, text, isAbsence] of rows)
    it(`has a text and may have a code: ${text}`, () => {
      assert.equal(errorMessage(error), text);
      assert.equal(hasErrorCode(error, 'ESRCH', 'ENOENT'), isAbsence);
    });
});

describe('Several texts as one', () => {
  it('are in brackets unless there is one', () => {
    assert.equal(aggregateText(['a']), 'a');
    assert.equal(aggregateText(['a', 'b']), '[a, b]');
  });

  it('name equal texts once', () => {
    assert.equal(aggregateText(['a', 'b', 'a']), '[a, b]');
    assert.equal(aggregateText(['a', 'a']), 'a');
  });
});
