import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';

import { withFolders, writeTar, type TarEntry } from './tar.ts';

const long = `${'a'.repeat(90)}/${'b'.repeat(80)}`;

test('tar(1) reads back the written entries', () => {
  const entries: TarEntry[] = [
    { path: 'bin', kind: 'folder' },
    { path: 'bin/tool', kind: 'file', content: 'x'.repeat(513), mode: 0o755 },
    { path: 'bin/alias', kind: 'link', target: 'tool' },
    { path: long, kind: 'file', content: 'ü\n' },
    { path: 'empty', kind: 'file', content: '' },
  ];
  const archive = writeTar(entries);
  const listing = execFileSync('tar', ['tvf', '-', '--numeric-owner', '--utc'], { input: archive, encoding: 'utf8' });
  const lines = listing.trimEnd().split('\n');
  assert.deepEqual(
    lines.map((line) => line.replace(/\s+/g, ' ')),
    [
      'drwxr-xr-x 0/0 0 1970-01-01 00:00 bin/',
      '-rwxr-xr-x 0/0 513 1970-01-01 00:00 bin/tool',
      'lrwxrwxrwx 0/0 0 1970-01-01 00:00 bin/alias -> tool',
      `-rw-r--r-- 0/0 3 1970-01-01 00:00 ${long}`,
      '-rw-r--r-- 0/0 0 1970-01-01 00:00 empty',
    ],
  );
  assert.equal(execFileSync('tar', ['xOf', '-', long], { input: archive, encoding: 'utf8' }), 'ü\n');
  assert.deepEqual(writeTar(entries), archive);
});

test('paths and targets too long for the format are refused', () => {
  const cases: TarEntry[] = [
    { path: 'a'.repeat(101), kind: 'file', content: '' },
    { path: `${'a'.repeat(160)}/b`, kind: 'file', content: '' },
    { path: 'link', kind: 'link', target: 'a'.repeat(101) },
  ];
  for (const entry of cases) assert.throws(() => writeTar([entry]), RangeError);
});

test('parent folders are added once, before their entries, and a given folder keeps its mode', () => {
  const entries: TarEntry[] = [
    { path: 'a/b/c', kind: 'file', content: '' },
    { path: 'a/b', kind: 'folder', mode: 0o700 },
    { path: 'a.txt', kind: 'file', content: '' },
  ];
  assert.deepEqual(withFolders(entries), [
    { path: 'a.txt', kind: 'file', content: '' },
    { path: 'a', kind: 'folder' },
    { path: 'a/b', kind: 'folder', mode: 0o700 },
    { path: 'a/b/c', kind: 'file', content: '' },
  ]);
});
