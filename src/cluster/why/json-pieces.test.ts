import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { jsonPieces } from './json-pieces.ts';

test('the pieces are the text of the object', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.option(fc.jsonValue(), { nil: undefined })), (object) => {
      assert.equal([...jsonPieces(object)].join(''), `${JSON.stringify(object)}\n`);
    }),
  );
  assert.equal([...jsonPieces({ list: [1, undefined, 'a'] })].join(''), '{"list":[1,null,"a"]}\n');
});

test('no piece has more than one element of a list', () => {
  const pieces = [...jsonPieces({ kind: 'ExplanationList', items: Array.from({ length: 50 }, (_, at) => ({ at })) })];
  assert.ok(pieces.every((piece) => piece.split('"at"').length <= 2));
  assert.ok(pieces.length >= 50);
});
