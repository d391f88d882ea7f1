import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTime } from '../../api/time.ts';
import { derContent, derElements, TAG } from '../../base/der.ts';
import { derBits, derElement, derInteger, derOid, derTime } from './write-der.ts';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

test('lengths take as few bytes as they can, and are read again', () => {
  for (const [length, head] of [
    [0, '0400'],
    [127, '047f'],
    [128, '048180'],
    [255, '0481ff'],
    [256, '04820100'],
    [65_536, '0483010000'],
  ] as const) {
    const written = derElement(TAG.octetString, Buffer.alloc(length));
    assert.equal(hex(written.subarray(0, head.length / 2)), head);
    assert.equal(derElements(written)[0]?.content.length, length);
  }
  const nested = derElement(TAG.sequence, derInteger(Buffer.from([1])), derBits(Buffer.from([0xa0]), 5));
  assert.deepEqual(
    derContent(derElements(nested)[0], TAG.sequence).map(({ whole }) => hex(whole)),
    ['020101', '030205a0'],
  );
});

test('reading the first elements reads no further', () => {
  const cutOff = Buffer.from('020101' + '02ff', 'hex');
  assert.equal(derElements(cutOff, 1).length, 1);
  assert.throws(() => derElements(cutOff), /malformed DER/);
});

test('a number has no byte too many, and none that makes it negative', () => {
  const cases = { '00': '020100', '0000': '020100', '007f': '02017f', '80': '02020080', '00ff01': '020300ff01' };
  for (const [bytes, written] of Object.entries(cases))
    assert.equal(hex(derInteger(Buffer.from(bytes, 'hex'))), written);
});

test('names of types', () => {
  assert.equal(hex(derOid('2.5.4.3')), '0603550403');
  assert.equal(hex(derOid('1.2.840.113549.1.9.14')), '06092a864886f70d01090e');
});

test('a year of two digits is between 1950 and 2049', () => {
  const text = (time: string): string => Buffer.from(derTime(parseTime(time)).subarray(2)).toString();
  assert.equal(text('2049-12-31T23:59:59Z'), '491231235959Z');
  assert.equal(text('2050-01-01T00:00:00Z'), '20500101000000Z');
  assert.equal(derTime(parseTime('2050-01-01T00:00:00Z'))[0], TAG.generalizedTime);
  assert.equal(text('1950-01-01T00:00:00Z'), '500101000000Z');
  assert.equal(text('1949-12-31T00:00:00Z'), '19491231000000Z');
});
