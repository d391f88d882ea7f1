// Limits of what a small JSON patch may cost: copies, moved elements, depth. Upstream limits the copies of a patch
// (CVE-2019-1002100).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jsonPatch } from './json-patch.ts';
import { MAX_COPIED_BYTES } from './measured-copy.ts';
import { PatchError } from './patch-error.ts';

const copies = (from: string, count: number): unknown[] =>
  Array.from({ length: count }, (_, i) => ({ op: 'copy', from, path: `/d/k${i}` }));

function refusal(original: unknown, patch: unknown[]): PatchError {
  try {
    jsonPatch(original, patch);
  } catch (error) {
    assert(error instanceof PatchError, String(error));
    return error;
  }
  return assert.fail('the patch was applied');
}

test('repeated copies that double a document are refused with 422', () => {
  const { code, message } = refusal({ d: { a: 1 } }, copies('/d', 60));
  assert.equal(code, 422);
  assert.match(
    message,
    /^Unable to complete the copy, the accumulated size increase of copy is \d+, exceeding the limit 3145728$/,
  );
});

test('the sizes of all copies in a patch are added up', () => {
  const half = 'x'.repeat(MAX_COPIED_BYTES / 2 - 100);
  const shapes: unknown[] = [half, [half], { [half]: null }, { a: { b: [half] } }, ['é'.repeat(half.length / 2)]];
  for (const value of shapes) {
    jsonPatch({ s: value, d: {} }, copies('/s', 2));
    assert.equal(refusal({ s: value, d: {} }, copies('/s', 3)).code, 422);
  }
});

test('a copy and its source can be changed independently', () => {
  const patch = [
    { op: 'copy', from: '/a', path: '/b' },
    { op: 'add', path: '/a/x/y', value: 1 },
    { op: 'add', path: '/b/x/z', value: 2 },
  ];
  assert.deepEqual(jsonPatch({ a: { x: {} } }, patch), { a: { x: { y: 1 } }, b: { x: { z: 2 } } });
  const proto = JSON.parse('{"a":{"__proto__":{"x":1}}}') as object;
  const copied = jsonPatch(proto, [{ op: 'copy', from: '/a', path: '/b' }]) as { b: object };
  assert.equal(JSON.stringify(copied.b), '{"__proto__":{"x":1}}');
});

test('operations at the front of a long array are refused with 413 once they have moved too many elements', () => {
  const long = { a: Array.from({ length: 700_000 }, () => 1) };
  const front = { path: '/a/0', value: 1, from: '/a/0' };
  for (const op of ['add', 'remove', 'move', 'copy'])
    assert.equal(
      refusal(
        long,
        Array.from({ length: 10_000 }, () => ({ op, ...front })),
      ).code,
      413,
      op,
    );
  const ordinary = { a: Array.from({ length: 5000 }, () => 1) };
  jsonPatch(
    ordinary,
    Array.from({ length: 5000 }, () => ({ op: 'remove', path: '/a/0' })),
  );
});

test('a patch whose result is nested deeper than a body may be is refused with 422', () => {
  const nested = JSON.parse('{"a":'.repeat(900) + '1' + '}'.repeat(900)) as unknown;
  const below = '/a'.repeat(899);
  const onto = [
    { op: 'add', path: '/x', value: nested },
    { op: 'add', path: `/x${below}`, value: nested },
  ];
  const moves = Array.from({ length: 40 }, (_, i) => [
    { op: 'add', path: `/m${i + 1}`, value: nested },
    { op: 'move', from: `/m${i}`, path: `/m${i + 1}${below}` },
  ]);
  const first = { op: 'add', path: '/m0', value: nested };
  const ends = [[], [{ op: 'copy', from: '/m40', path: '/c' }], [{ op: 'test', path: '/m40', value: nested }]];
  for (const patch of [onto, ...ends.map((end) => [first, ...moves.flat(), ...end])])
    assert.equal(refusal({}, patch).code, 422);
  for (const path of ['/'.repeat(3_000_000), '/a'.repeat(1_500_000)])
    assert.equal(refusal({}, [{ op: 'add', path, value: 1 }]).code, 422);
});
