import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pemBlocks } from './pem.ts';

const block = (type: string, body: string): string => `-----BEGIN ${type}-----\n${body}\n-----END ${type}-----\n`;
const typesOf = (text: string): string[] => pemBlocks(text).map(({ type }) => type);

test('blocks are read in order, with their content', () => {
  const [first, second, ...others] = pemBlocks(
    `note\n${block('A', 'YWJj\nZGVm')}note\n${block('B C', 'N: v\n\nYQ==')}`,
  );
  assert.deepEqual(others, []);
  assert.deepEqual(first, { type: 'A', hasHeaders: false, content: Buffer.from('abcdef') });
  assert.deepEqual(second, { type: 'B C', hasHeaders: true, content: Buffer.from('a') });
  assert.deepEqual(typesOf('-----BEGIN A-----\n-----END A-----'), ['A']);
  assert.deepEqual(typesOf(block('A', 'YWJj').replaceAll('\n', '\r\n')), ['A']);
});

test('text outside blocks is skipped', () => {
  const malformed: Readonly<Record<string, string>> = {
    'no base64': block('A', 'rubbish!'),
    'base64 that is cut off': block('A', 'YWJ'),
    'another end': block('A', 'YWJj').replace('END A', 'END C'),
    'no end': '-----BEGIN A-----\nYWJj\n',
    'text before the begin': ` ${block('A', 'YWJj')}`,
    'text behind the end': `${block('A', 'YWJj').trimEnd()}x\n`,
    'no dashes': block('A', 'YWJj').replace('A-----', 'A'),
    'an end only': '\n-----END A-----\n',
  };
  for (const [name, text] of Object.entries(malformed))
    assert.deepEqual(typesOf(text + block('B', 'YWJj')), ['B'], name);
});

test('text of three megabytes that begins or ends blocks over and over is read once', () => {
  for (const line of [
    '-----BEGIN A-----\n',
    '\n-----END A-----',
    '-----BEGIN A-----\n-----END B-----\n',
    '-----BEGIN ',
  ])
    assert.deepEqual(typesOf(line.repeat((3 << 20) / line.length)), [], line);
});
