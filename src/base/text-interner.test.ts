import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { TextInterner } from './text-interner.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** In megabytes, once a collection finds nothing more: other tests in this process leave garbage behind. */
function heldMb(): number {
  let [earlier, now] = [Infinity, Number.MAX_VALUE];
  while (earlier - now > 0.1) {
    collect();
    [earlier, now] = [now, process.memoryUsage().heapUsed / 1e6];
  }
  return now;
}

/** How much more is held while the texts are, in megabytes. */
function heldBy(make: () => string[]): number {
  const before = heldMb();
  const texts = make();
  const moreMb = heldMb() - before;
  assert.ok(texts.length > 0);
  return moreMb;
}

/** A new text, letter by letter in one piece. */
const textOf = (length: number): string => Buffer.alloc(length, 'letter').toString('latin1');

/** Texts an engine cuts out of another, at every place. */
function* pieces(of: string, length: number): Generator<string> {
  for (let at = 0; at + length <= of.length; at++) yield of.slice(at, at + length);
}

const TEXTS = [
  '',
  'plain',
  'a text of more than a few letters',
  'ä text öf möre than a few letters',
  '\ud83d\ude00 '.repeat(20),
];

test('the value of a text never changes, for whole texts and slices, known and unknown ones', () => {
  const texts = new TextInterner();
  for (const isWhole of [false, true, false]) for (const text of TEXTS) assert.equal(texts.intern(text, isWhole), text);
});

test('half a surrogate pair stays half, whichever way the text came first', () => {
  for (const orders of [
    [false, true],
    [true, false],
  ]) {
    const texts = new TextInterner();
    for (const isWhole of orders)
      for (const piece of pieces('smileys: \ud83d\ude00\ud83d\ude01\ud83d\ude02 and text', 14))
        assert.equal(texts.intern(piece, isWhole), piece);
  }
});

test('texts beyond the number and length that are remembered are returned unchanged', () => {
  const texts = new TextInterner();
  for (let round = 0; round < 2; round++)
    for (let number = 0; number < 5000; number++) {
      const text = `text of number ${number % 3000}`;
      assert.equal(texts.intern(text), text);
    }
  const long = 'long '.repeat(10_000);
  assert.equal(texts.intern(long), long);
});

test('equal texts are one in memory', () => {
  const texts = new TextInterner();
  const many = Array.from({ length: 10_000 }, () => 4000);
  assert.ok(heldBy(() => many.map(textOf)) > 30);
  for (const isWhole of [true, false])
    assert.ok(heldBy(() => many.map((length) => texts.intern(textOf(length), isWhole))) < 10);
});

test('of a text that something was cut out of, the piece alone stays', () => {
  const texts = new TextInterner();
  const pieces = (keep: (piece: string) => string): string[] =>
    Array.from({ length: 20 }, (_, number) => keep(`${textOf(2_000_000)}${number}`.slice(-30)));
  assert.ok(heldBy(() => pieces((piece) => piece)) > 30);
  assert.ok(heldBy(() => pieces((piece) => texts.intern(piece))) < 10);
});
