import assert from 'node:assert/strict';
import { test } from 'node:test';
import { below, entriesOf } from './listing.ts';

test('entries are parsed in the formats of GNU and busybox', () => {
  const entries = entriesOf(
    [
      'total 12',
      '-rw-r--r--    1 0        0               42 Nov 24 18:40 a file with  spaces',
      'drwxrwxrwt    2 0        0             4096 Nov 24  2025 tmp',
      'lrwxrwxrwx 1 0 0 7 2026-11-24 18:40 bin -> usr/bin',
      'crw-rw-rw-    1 0        0           1,   3 Nov 24 18:40 null',
      '-rwsr-xr-x+ 1 1000 1000 5 2026-11-24 18:40:01.000000000 +0000 tool',
      '-rw-r--r--    1 0        0                0 Nov 24 18:40 -rf',
      'ls: cannot open x',
    ].join('\n'),
  );
  assert.deepEqual(
    entries.map(({ name, type, size, target }) => [name, type, size, target]),
    [
      ['tmp', 'folder', 4096, ''],
      ['-rf', 'file', 0, ''],
      ['a file with  spaces', 'file', 42, ''],
      ['bin', 'link', 7, 'usr/bin'],
      ['null', 'other', undefined, ''],
      ['tool', 'file', 5, ''],
    ],
  );
  assert.deepEqual([entries[5]?.mode, entries[5]?.owner], ['rwsr-xr-x', '1000:1000']);
});

test('paths stay below the root', () => {
  assert.equal(below('/', 'etc'), '/etc');
  assert.equal(below('/var/log/', 'x y'), '/var/log/x y');
  assert.equal(below('/var/log', '..'), '/var');
  assert.equal(below('/', '..'), '/');
});
