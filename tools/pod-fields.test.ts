/** The page about a pod's fields says what the tables say. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { podFieldsDocument } from '../src/kubelet/pod-fields/document.ts';
import { repositoryRoot } from './repository.ts';

it('docs/pod-fields.md is current (node tools/pod-fields.ts writes it)', () => {
  assert.equal(readFileSync(join(repositoryRoot, 'docs/pod-fields.md'), 'utf8'), podFieldsDocument());
});
