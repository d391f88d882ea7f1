import assert from 'node:assert/strict';
import { test } from 'node:test';

import { anchorsOf, checkDocuments } from './documents.ts';
import { plantTree } from './planted-tree.ts';

const packageJson = JSON.stringify({
  name: 'pack',
  files: ['dist'],
  exports: { './testing': 'x' },
  scripts: { bench: 'x' },
  dependencies: { '@scope/name': '1' },
});

/** The faults of documents beside one source file. */
function faultsOf(documents: Readonly<Record<string, string>>): readonly string[] {
  using tree = plantTree({
    'package.json': packageJson,
    'src/api/time.ts': 'export const formatTime = (): Thing => Thing.of;',
    ...documents,
  });
  return checkDocuments(tree.root).faults;
}

test('headings get the anchors of GitHub', () => {
  const text = '# One\n## A, b: `C`\n## [Link](x.md)\n## One\n```\n# no heading\n```\n### Über x_y\n';
  assert.deepEqual([...anchorsOf(text)], ['one', 'a-b-c', 'link', 'one-1', 'über-x_y']);
});

test('links must lead to files and headings', () => {
  const documents = {
    'README.md': '# Top\n[a](docs/a.md) [b](docs/a.md#part) [c](#top) [d](https://example.com/x) `[e](e.md)`\n',
    'docs/a.md': '## Part\n[up](../README.md)\n```\n[f](f.md)\n```\n',
  };
  assert.deepEqual(faultsOf(documents), []);
  assert.deepEqual(faultsOf({ 'README.md': '[a](b.md)\n', 'docs/a.md': '# T\n\n[x](a.md#u) [y](#t) [z](#v)\n' }), [
    'README.md:1 link to b.md: there is no such file',
    'docs/a.md:3 link to a.md#u: there is no such heading',
    'docs/a.md:3 link to #v: there is no such heading',
  ]);
});

test('npm scripts and source paths must exist, in every document', () => {
  const text = '`npm run bench -- x` `npm run none` `api/time.ts` `src/api/*.ts` `api/date.ts` `someName` `a/b`\n';
  assert.deepEqual(faultsOf({ 'docs/a.md': text }), [
    'docs/a.md:1 npm run none: there is no such script',
    'docs/a.md:1 api/date.ts: there is no such file or folder',
  ]);
  assert.deepEqual(faultsOf({ 'CHANGELOG.md': '`api/date.ts`\n' }), [], 'history may tell of what is gone');
});

test('documents that explain the source may only use existing code names', () => {
  const text =
    '`formatTime` `formatTime()` `Thing.of` `api/` `kubectl get pods` `word` `@scope/name` `pack/testing` `dist/` `kl<hash>`\n';
  assert.deepEqual(faultsOf({ 'docs/tour.md': text, 'src/api/README.md': text }), []);
  assert.deepEqual(faultsOf({ 'docs/tour.md': '`parseTime()` `Thing.by`\n`apis/`\n' }), [
    'docs/tour.md:1 parseTime(): no source has the word parseTime',
    'docs/tour.md:1 Thing.by: no source has the word by',
    'docs/tour.md:2 apis/: there is no such file or folder',
  ]);
});

test('names in diagrams must be names of the source', () => {
  const diagram = (names: string): string =>
    `# T\n\n\`\`\`mermaid\n%%{init: {"wrappingWidth": 1}}%%\nsequenceDiagram\n  a->>b: ${names}\n\`\`\`\n`;
  assert.deepEqual(faultsOf({ 'docs/tour.md': diagram('formatTime, FormatTime, HTTPS and API server') }), []);
  assert.deepEqual(faultsOf({ 'docs/tour.md': diagram('parseTime') }), [
    'docs/tour.md:6 parseTime in a diagram: no source has this word',
  ]);
  assert.deepEqual(faultsOf({ 'docs/other.md': diagram('parseTime') }), []);
});

test('a name that stands beside a file must occur in it', () => {
  const other = { 'src/api/date.ts': 'export const parseDate = 1;\n' };
  const right = '`formatTime` (`api/time.ts`, first), `parseDate` in `api/date.ts`, `api/date.ts` (`parseDate`)\n';
  assert.deepEqual(faultsOf({ ...other, 'docs/tour.md': right }), []);
  assert.deepEqual(
    faultsOf({ ...other, 'docs/tour.md': '`formatTime` (`api/date.ts`)\n`api/time.ts` (`parseDate`)\n' }),
    [
      'docs/tour.md:1 formatTime: api/date.ts does not have this word',
      'docs/tour.md:2 parseDate: api/time.ts does not have this word',
    ],
  );
});
