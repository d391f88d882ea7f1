import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { warningHeaders } from './warning-headers.ts';

const texts = (warnings: readonly string[]): readonly string[] => {
  const { warning = [] } = warningHeaders(warnings);
  return [warning].flat().map((value) => /^299 - "(.*)"$/.exec(Buffer.from(value, 'latin1').toString())![1]!);
};

test('quotes and backslashes are escaped, other languages go out as UTF-8', () => {
  assert.deepEqual(warningHeaders(['a "b" \\ c']), { warning: ['299 - "a \\"b\\" \\\\ c"'] });
  assert.deepEqual(warningHeaders(['ü']), { warning: ['299 - "Ã¼"'] });
  assert.deepEqual(texts(['日本 😀']), ['日本 😀']);
});

test('as upstream, a text with control characters or of no valid UTF-8 is left out', () => {
  for (const one of ['', 'a\nb', 'a\tb', '\0', '\u007f', '\u0085', '\ud800'])
    assert.deepEqual(texts(['before', one, 'after']), ['before', 'after'], JSON.stringify(one));
  assert.deepEqual(warningHeaders(['\n']), {});
});

test('texts are cut to 256 characters once all exceed 4096, and none follows after as many', () => {
  const long = (letter: string, length: number): string => letter.repeat(length);
  assert.deepEqual(texts([long('ü', 4000), long('b', 96)]), [long('ü', 4000), long('b', 96)]);
  assert.deepEqual(texts([long('ü', 4000), 'bb', long('c', 95)]), [long('ü', 256), 'bb', long('c', 95)]);
  const many = Array.from({ length: 40 }, (_, index) => `${index}${long('x', 254)}`);
  assert.equal(texts(many).length, 17);
  assert.deepEqual(texts([long('a', 5000), 'b']), [long('a', 256), 'b']);
});

test('for all texts the values are valid headers, and limited in number', () => {
  const unit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));
  fc.assert(
    fc.property(fc.array(fc.string({ unit, maxLength: 600 }), { maxLength: 40 }), (warnings) => {
      const values = [warningHeaders(warnings)['warning'] ?? []].flat();
      for (const value of values) assert.doesNotMatch(value, /[^\u0020-\u007e\u0080-\u00ff]/);
      assert.ok(values.join('').length < 20_000);
    }),
    { seed: 1, numRuns: 200 },
  );
});
