import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createNodeFiles } from './files.ts';

test('a volatile tree is removed completely, links are not followed, and missing files are no error', async () => {
  const base = mkdtempSync(join(tmpdir(), 'keelson-remove-'));
  try {
    mkdirSync(join(base, 'volume', '-rf', 'deep'), { recursive: true });
    writeFileSync(join(base, 'kept'), '');
    symlinkSync(base, join(base, 'volume', 'link'));
    const { remove } = createNodeFiles();
    await remove(join(base, 'volume'), { mayChange: true });
    await remove(join(base, 'volume'), { mayChange: true });
    assert.ok(!existsSync(join(base, 'volume')));
    assert.ok(existsSync(join(base, 'kept')));
  } finally {
    rmSync(base, { recursive: true, force: true });
  }
});
