import assert from 'node:assert/strict';
import { test } from 'node:test';
import { abortable, aborted, linkedController } from './abort.ts';
import { createDeferred } from './deferred.ts';
import { deepEqual } from './equal.ts';
import { fnv32, fnv32a, fnv64a, safeEncode } from './fnv.ts';
import { parseGoBoolean } from './go-boolean.ts';
import { Lru } from './lru.ts';
import { stableStringify } from './stable-json.ts';

test('fnv: the published test vectors', () => {
  assert.equal(fnv32a(''), 0x811c9dc5);
  assert.equal(fnv32a('a'), 0xe40c292c);
  assert.equal(fnv32a('foobar'), 0xbf9cf968);
  assert.equal(fnv32('a'), 0x050c5d7e);
  assert.equal(fnv32('foobar'), 0x31f0b262);
  assert.equal(fnv64a('a'), 0xaf63dc4c8601ec8cn);
  assert.equal(fnv64a('foobar'), 0x85944171f73967e8n);
  // By the definition, over bytes that carry into the upper half.
  let expected = 0xcbf29ce484222325n;
  const bytes = Uint8Array.from({ length: 400 }, (_, at) => (at * 167) & 0xff);
  for (const byte of bytes) expected = BigInt.asUintN(64, (expected ^ BigInt(byte)) * 0x100000001b3n);
  assert.equal(fnv64a(bytes), expected);
  assert.equal(safeEncode(1234567890), '56789bcdf4');
});

test('booleans are the words that Go accepts', () => {
  const parsed = ['1', 't', 'True', 'TRUE', '0', 'F', 'false', '', 'yes', 'tRUE'].map(parseGoBoolean);
  assert.deepEqual(parsed, [true, true, true, true, false, false, false, undefined, undefined, undefined]);
});

test('lru drops the least recently used', () => {
  const evicted: string[] = [];
  const lru = new Lru<string, number>(2, (key) => evicted.push(key));
  lru.set('a', 1);
  lru.set('b', 2);
  assert.equal(lru.get('a'), 1);
  lru.set('c', 3);
  assert.deepEqual([evicted, lru.peek('a'), lru.peek('b'), lru.size], [['b'], 1, undefined, 2]);
});

test('stable JSON sorts keys and leaves out undefined', () => {
  assert.equal(stableStringify({ b: [1, { d: null, c: undefined }], a: 'x' }), '{"a":"x","b":[1,{"d":null}]}');
  assert.equal(stableStringify([undefined]), '[null]');
});

const equalCases: readonly (readonly [unknown, unknown, boolean])[] = [
  [{ a: 1, b: [1, 2] }, { b: [1, 2], a: 1 }, true],
  [{ a: undefined }, {}, true],
  [{}, { a: undefined }, true],
  [{ a: null }, {}, false],
  [{}, { a: 0 }, false],
  [[1], [1, 2], false],
  [[], {}, false],
  [{ toString: 1 }, {}, false],
  [null, {}, false],
  [0, false, false],
];
for (const [a, b, want] of equalCases) {
  test(`deepEqual ${JSON.stringify(a)} ${JSON.stringify(b)}`, () => assert.equal(deepEqual(a, b), want));
}

test('abortable rejects with the reason at once; linked signals follow the first', async () => {
  const controller = new AbortController();
  const reason = new Error('stop');
  const waiting = abortable(createDeferred<void>().promise, controller.signal);
  const linked = linkedController(undefined, controller.signal);
  const seen = aborted(linked.signal);
  controller.abort(reason);
  await assert.rejects(waiting, reason);
  await seen;
  assert.equal(linked.signal.reason, reason);
  assert.equal(await abortable(Promise.resolve(7), new AbortController().signal), 7);
});
