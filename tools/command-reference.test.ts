/** The pages of commands and configuration keys are current. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { referencePages } from './command-reference.ts';
import { repositoryRoot } from './repository.ts';

for (const { path, text } of await referencePages())
  it(`${path} is current (node --conditions=keelson-source tools/command-reference.ts writes it)`, () =>
    assert.equal(readFileSync(join(repositoryRoot, path), 'utf8'), text));
