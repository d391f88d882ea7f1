/** The page about a pod's fields equals the tables, and product code reads the values that the tables call honoured. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { podFieldsDocument } from '../src/kubelet/pod-fields/document.ts';
import { isBelow, podLeaves, podRows } from '../src/kubelet/pod-fields/leaves-fixture.ts';
import { repositoryRoot } from './repository.ts';

it('docs/pod-fields.md is current (node tools/pod-fields.ts writes it)', () => {
  assert.equal(readFileSync(join(repositoryRoot, 'docs/pod-fields.md'), 'utf8'), podFieldsDocument());
});

/** Fields of a template's metadata that no component reads, and those that upstream's translation to CSI omits, too. */
const UNREAD = ['fieldsType', 'fieldsV1', 'selfLink', 'storagePolicyID'];

it('every value of a pod that is honoured is read by a component', () => {
  const parts = ['kubelet', 'scheduler', 'controllers', 'proxy', 'component-helpers', 'cluster', 'apiserver/admission'];
  const sources = globSync(
    parts.map((part) => `src/${part}/**/*.ts`),
    { cwd: repositoryRoot },
  )
    .filter((path) => !/pod-fields\/|\.test\.ts$|-fixture\.ts$/.test(path))
    .map((path) => readFileSync(join(repositoryRoot, path), 'utf8'))
    // Words in comments do not count.
    .map((text) => text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/\/\/.*$/gm, ''));
  const words = new Set(sources.flatMap((text) => text.match(/\w+/g) ?? []));
  const nameOf = (path: string): string => path.replace(/\[\]|\{\}/g, '').replace(/^.*\./, '');
  const honoured = podLeaves.filter((leaf) =>
    podRows.some(([path, [state]]) => (state === 'honoured' || state === 'in part') && isBelow(leaf, path)),
  );
  assert.ok(honoured.length > 400, 'the tables were found');
  assert.deepEqual(
    honoured.filter((leaf) => !words.has(nameOf(leaf)) && !UNREAD.includes(nameOf(leaf))),
    [],
  );
});
