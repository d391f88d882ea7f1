import assert from 'node:assert/strict';
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createRotation } from './log-rotation.ts';

test('a log file stays bounded, with three old ones beside it and the newest lines in place', () => {
  const folder = mkdtempSync(join(tmpdir(), 'log-rotation-'));
  const path = join(folder, 'keelson.log');
  const fd = openSync(path, 'a');
  try {
    const wrote = createRotation(fd, path, 64_000);
    for (let line = 0; line < 10_000; line++) {
      const text = `line ${String(line).padStart(94, '0')}\n`;
      writeSync(fd, text);
      wrote(text.length);
    }
    assert.deepEqual(readdirSync(folder).toSorted(), [
      'keelson.log',
      'keelson.log.1',
      'keelson.log.2',
      'keelson.log.3',
    ]);
    for (const name of readdirSync(folder)) assert.ok(statSync(join(folder, name)).size <= 66_000, name);
    const text = readFileSync(`${path}.1`, 'utf8') + readFileSync(path, 'utf8');
    assert.match(text, /line 0*9999\n$/);
  } finally {
    closeSync(fd);
    rmSync(folder, { recursive: true });
  }
});

test('a file that is not the descriptor is left alone', () => {
  const folder = mkdtempSync(join(tmpdir(), 'log-rotation-'));
  const [path, other] = [join(folder, 'a.log'), join(folder, 'b.log')];
  const fd = openSync(path, 'a');
  closeSync(openSync(other, 'a'));
  try {
    const wrote = createRotation(fd, other, 64);
    for (let line = 0; line < 10; line++) wrote(writeSync(fd, 'x'.repeat(100)));
    assert.deepEqual(readdirSync(folder).toSorted(), ['a.log', 'b.log']);
    assert.equal(statSync(path).size, 1000);
  } finally {
    closeSync(fd);
    rmSync(folder, { recursive: true });
  }
});
