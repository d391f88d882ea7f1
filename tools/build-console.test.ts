import assert from 'node:assert/strict';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { buildConsole } from './build-console.ts';
import { repositoryRoot } from './repository.ts';

interface Built {
  readonly type: string;
  readonly etag: string;
  readonly hashed: boolean;
}

test('the console is built: an index of compressed files, and a first load of at most 100 kB', async (t) => {
  const dist = mkdtempSync(join(tmpdir(), 'keelson-console-'));
  t.after(() => rmSync(dist, { recursive: true }));
  await buildConsole(repositoryRoot, dist);
  const folder = join(dist, 'console');
  const index = JSON.parse(readFileSync(join(folder, 'files.json'), 'utf8')) as Record<string, Built>;
  for (const [name, { etag }] of Object.entries(index)) {
    assert.match(etag, /^"[\w-]+"$/);
    for (const suffix of ['', '.gz', '.br']) assert.ok(existsSync(join(folder, name + suffix)), name + suffix);
  }
  const page = readFileSync(join(folder, 'index.html'), 'utf8');
  assert.doesNotMatch(
    page,
    /<script(?![^>]* src=)|<style|\bstyle=|\bon\w+=|https?:/,
    'nothing inline, nothing from elsewhere',
  );
  const first = [...page.matchAll(/(?:href|src)="\/console\/([^"]+)"/g)].map(([, name]) => name!);
  const list = Object.keys(index).filter((name) => name.startsWith('resources-'));
  assert.equal(list.length, 1);
  const bytes = [...first, ...list, 'index.html'].map((name) => statSync(join(folder, `${name}.gz`)).size);
  const total = bytes.reduce((sum, size) => sum + size, 0);
  assert.ok(total > 10_000 && total <= 100_000, `${total} bytes`);
  for (const path of globSync('*.js', { cwd: folder }))
    assert.doesNotMatch(readFileSync(join(folder, path), 'utf8'), /\beval\(|new Function\(/, path);
});
