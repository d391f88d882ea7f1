// What is committed must be what the generator writes. The facts lie outside the project; without them this is skipped.

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { generate } from './generate.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const facts = ['..', '../..']
  .map((up) => join(root, up, 'shared/api/kubernetes-v1.36.json'))
  .find((path) => existsSync(path));

test('the generated files are up to date', { skip: facts === undefined ? 'no facts here' : false }, () => {
  const files = generate(facts as string);
  const folder = join(root, 'src/api/gen');
  assert.deepEqual(readdirSync(folder).sort(), [...files.keys()].sort());
  for (const [name, text] of files)
    assert.equal(readFileSync(join(folder, name), 'utf8') === text, true, `${name} is outdated`);
});
