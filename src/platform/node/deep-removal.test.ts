import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createNodeFiles } from './files.ts';

test('directories nested beyond the longest path are removed, and no link in them is followed', async () => {
  const files = createNodeFiles();
  const root = mkdtempSync(join(tmpdir(), 'keelson-deep-'));
  const [kept, removed] = [join(root, 'kept'), join(root, 'removed')];
  try {
    writeFileSync(kept, '');
    await files.makeDir(removed);
    symlinkSync(root, join(removed, 'link'));
    // As a container does it: from each directory into the next.
    const name = 'd'.repeat(250);
    const script = `i=0; while [ $i -lt 40 ]; do mkdir ${name} && cd -P ${name} || exit 1; i=$((i + 1)); done`;
    assert.equal(spawnSync('bash', ['-c', script], { cwd: removed }).status, 0);
    await files.remove(removed);
    assert.deepEqual([existsSync(removed), existsSync(kept)], [false, true]);
  } finally {
    spawnSync('rm', ['-rf', '--', root]);
  }
});
