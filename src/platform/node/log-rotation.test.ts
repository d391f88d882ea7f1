import assert from 'node:assert/strict';
import {
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createRotation, rotateLarge } from './log-rotation.ts';

test('a log file stays bounded, with three old ones beside it and the newest lines in place', () => {
  const folder = mkdtempSync(join(tmpdir(), 'log-rotation-'));
  const path = join(folder, 'keelson.log');
  const fd = openSync(path, 'a');
  try {
    const wrote = createRotation(fd, path, { maxBytes: 64_000 });
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
    const wrote = createRotation(fd, other, { maxBytes: 64 });
    for (let line = 0; line < 10; line++) wrote(writeSync(fd, 'x'.repeat(100)));
    assert.deepEqual(readdirSync(folder).toSorted(), ['a.log', 'b.log']);
    assert.equal(statSync(path).size, 1000);
  } finally {
    closeSync(fd);
    rmSync(folder, { recursive: true });
  }
});

for (const [code, left] of [
  ['ENOSPC', 0],
  ['EDQUOT', 0],
  ['EACCES', 1000],
  ['EIO', 1000],
] as const)
  test(`a copy that fails with ${code} costs no older log, and ${left === 0 ? 'the' : 'not the'} log itself`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'log-rotation-'));
    const path = join(folder, 'a.log');
    const ages = [1, 2, 3];
    for (const age of ages) writeFileSync(`${path}.${age}`, `old ${age}`);
    const fd = openSync(path, 'a');
    const fail = (from: string, to: string): void => {
      assert.equal(from, path);
      writeFileSync(to, 'half');
      throw Object.assign(new Error('no copy'), { code });
    };
    const check = (): void => {
      assert.equal(statSync(path).size, left);
      assert.deepEqual(readdirSync(folder).toSorted(), ['a.log', 'a.log.1', 'a.log.2', 'a.log.3']);
      for (const age of ages) assert.equal(readFileSync(`${path}.${age}`, 'utf8'), `old ${age}`);
    };
    try {
      const wrote = createRotation(fd, path, { maxBytes: 64, copy: fail });
      wrote(writeSync(fd, 'x'.repeat(1000)));
      check();
      writeFileSync(path, 'x'.repeat(1000));
      await assert.rejects(
        rotateLarge(path, 64, async (from, to) => fail(from, to)),
        { code },
      );
      check();
    } finally {
      closeSync(fd);
      rmSync(folder, { recursive: true });
    }
  });
