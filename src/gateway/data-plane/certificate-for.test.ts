import assert from 'node:assert/strict';
import { test } from 'node:test';
import { certificateFor } from './certificate-for.ts';

test('the exact name is served, then the longest wildcard, of any number of labels, then the default', () => {
  const byName = new Map(['', 'a.b.example', '*.b.example', '*.example'].map((name) => [name, name]));
  const served = ['A.b.example', 'c.b.example', 'd.c.b.example', 'b.example', 'x.y.example', 'example', 'other', ''];
  assert.deepEqual(
    served.map((name) => certificateFor(byName, name)),
    ['a.b.example', '*.b.example', '*.b.example', '*.example', '*.example', '', '', ''],
  );
  assert.equal(certificateFor(new Map(), 'a.example'), undefined);
});
