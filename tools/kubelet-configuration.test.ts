/** The page about KubeletConfiguration equals the tables, and product code reads the fields that the tables call honoured. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { configurationDocument } from '../src/kubelet/configuration/document.ts';
import type { FieldTable } from '../src/kubelet/configuration/field-table.ts';
import { FIELDS } from '../src/kubelet/configuration/fields.ts';
import { repositoryRoot } from './repository.ts';

it('docs/kubelet-configuration.md is current (node tools/kubelet-configuration.ts writes it)', () => {
  assert.equal(readFileSync(join(repositoryRoot, 'docs/kubelet-configuration.md'), 'utf8'), configurationDocument());
});

/** Paths of the fields that are honoured, in full or in part. */
function honoured(table: FieldTable, prefix = ''): string[] {
  return Object.entries(table).flatMap(([name, { type, state }]) => {
    if (typeof type === 'object' && 'of' in type) return honoured(type.of, `${prefix}${name}.`);
    return state === 'honoured' || state === 'in part' ? [`${prefix}${name}`] : [];
  });
}

it('every field of KubeletConfiguration that is honoured is read outside its table', () => {
  const sources = globSync(['src/kubelet/**/*.ts', 'src/cluster/**/*.ts', 'src/cli/kubelet*.ts'], {
    cwd: repositoryRoot,
  })
    .filter((path) => !/(-fields|\.test|-fixture)\.ts$/.test(path))
    .map((path) => readFileSync(join(repositoryRoot, path), 'utf8'))
    // Words in comments do not count.
    .map((text) => text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/\/\/.*$/gm, ''));
  const words = new Set(sources.flatMap((text) => text.match(/\w+/g) ?? []));
  const paths = honoured(FIELDS);
  assert.ok(paths.length > 90, 'the tables were found');
  assert.deepEqual(
    paths.filter((path) => !words.has(path.slice(path.lastIndexOf('.') + 1))),
    [],
  );
});
