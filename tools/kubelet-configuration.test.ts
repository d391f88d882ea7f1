/** The page about KubeletConfiguration says what the tables say. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { configurationDocument } from '../src/kubelet/configuration/document.ts';
import { repositoryRoot } from './repository.ts';

it('docs/kubelet-configuration.md is current (node tools/kubelet-configuration.ts writes it)', () => {
  assert.equal(readFileSync(join(repositoryRoot, 'docs/kubelet-configuration.md'), 'utf8'), configurationDocument());
});
