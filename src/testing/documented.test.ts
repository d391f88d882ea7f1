/** docs/testing.md documents every option and every method of the library. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { Cluster } from './cluster.ts';
import { CLUSTER_FIELDS } from './cluster-options.ts';
import { TestFaults } from './faults.ts';
import { LISTEN_FIELDS } from './listener.ts';
import { TestNodes } from './nodes.ts';

const page = await readFile(new URL('../../docs/testing.md', import.meta.url), 'utf8');
/** Code spans and blocks of the page. */
const code = [...page.matchAll(/```[\s\S]*?```|`[^`]+`/g)].map(([text]) => text).join('\n');
const undocumented = (names: readonly string[]): readonly string[] =>
  names.filter((name) => name !== 'constructor' && !new RegExp(`\\b${name}\\b`).test(code));

for (const { prototype, name } of [Cluster, TestNodes, TestFaults])
  test(`every member of ${name} is documented`, () => {
    assert.deepEqual(undocumented(Object.getOwnPropertyNames(prototype)), []);
  });

test('every option of Cluster.start and of listen is documented', () => {
  assert.deepEqual(undocumented([...Object.keys(CLUSTER_FIELDS), ...Object.keys(LISTEN_FIELDS)]), []);
});
