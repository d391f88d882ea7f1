/** The page of codes lists every code of the explainers. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '../../..');

test('docs/why.md has a row for every code', () => {
  const page = readFileSync(join(root, 'docs/why.md'), 'utf8');
  const sources = globSync('src/why/**/*.ts', { cwd: root }).map((file) => readFileSync(join(root, file), 'utf8'));
  const codes = sources.flatMap((text) =>
    [...text.matchAll(/code: ([^,\n]*)/g)].flatMap(([, value]) =>
      [...value!.matchAll(/'([A-Z]\w+)'/g)].map(([, code]) => code!),
    ),
  );
  assert.ok(codes.length > 50, `${codes.length} codes found`);
  const missing = [...new Set(codes)].filter((code) => !page.includes(`\`${code}\``));
  assert.deepEqual(missing, []);
});
