// The committed files must equal the generator's output.

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readSections } from './facts/sections.ts';
import { factsFolder, generate } from './generate.ts';
import { loadFacts } from './generate-api/read-facts.ts';
import { repositoryRoot } from './repository.ts';

test('the generated files are current (npm run generate writes them)', () => {
  for (const [folder, files] of generate()) {
    const committed = join(repositoryRoot, folder);
    assert.deepEqual(readdirSync(committed).sort(), [...files.keys()].sort());
    for (const [name, text] of files)
      assert.equal(readFileSync(join(committed, name), 'utf8') === text, true, `${folder}/${name} is outdated`);
  }
});

test('every type that a field names is described, and no file of facts is larger than 100 KB', () => {
  const facts = loadFacts(join(factsFolder, 'kubernetes'));
  const scalars = new Set(['string', 'boolean', 'int32', 'int64', 'double', 'bytes', 'any']);
  for (const [name, { fields = {} }] of facts.types)
    for (const [field, { type }] of Object.entries(fields)) {
      const named = type
        .replace(/^(\[\]|map<string,)+/, '')
        .replaceAll('>', '')
        .replace(/^\[\]/, '');
      assert.ok(scalars.has(named) || facts.types.has(named), `${name}.${field} is of ${named}`);
    }
  for (const file of readdirSync(factsFolder, { recursive: true, withFileTypes: true }))
    if (file.isFile()) assert.ok(statSync(join(file.parentPath, file.name)).size <= 100_000, file.name);
});

test('a field is read with all its attributes', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'keelson-facts-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const read = (text: string) => {
    writeFileSync(join(folder, 'a.txt'), text);
    return loadFacts(folder);
  };
  const { types, resources } = read(`# a comment
resources apps/v1
  deployments/scale namespaced autoscaling/v1/Scale: get patch
resources v1
  nodes cluster Node: list

type a.v1.B = a.k8s.io/v1 B atomic
  c map<string,[].D> 2.1 required pointer omitempty wrapped list=map(x,y) map=granular patch=merge,retainKeys(x) default={"n":1} in |a b|c
  d []other.v1.D - such-as x

scalar a.v1.E
`);
  assert.deepEqual(resources, [
    {
      ...{ group: 'apps', version: 'v1', resource: 'deployments', subresource: 'scale', namespaced: true },
      ...{ verbs: ['get', 'patch'], kind: ['autoscaling', 'v1', 'Scale'] },
    },
    { group: '', version: 'v1', resource: 'nodes', namespaced: false, verbs: ['list'], kind: ['', 'v1', 'Node'] },
  ]);
  assert.deepEqual(Object.fromEntries(types), {
    'a.v1.B': {
      gvk: ['a.k8s.io', 'v1', 'B'],
      isAtomic: true,
      fields: {
        c: {
          ...{
            type: 'map<string,[]a.v1.D>',
            number: '2.1',
            required: true,
            pointer: true,
            omitempty: true,
            wrapped: true,
          },
          ...{ listType: 'map', listMapKeys: ['x', 'y'], mapType: 'granular', patchStrategy: 'merge,retainKeys' },
          ...{ patchMergeKey: 'x', default: { n: 1 }, values: ['', 'a b', 'c'], closed: true },
        },
        d: { type: '[]other.v1.D', values: ['x'], closed: false },
      },
    },
    'a.v1.E': {},
  });
  const refused: [text: string, message: RegExp][] = [
    ['  x string 1', /^Error: a\.txt:1: no heading above it/],
    ['type a.v1.B\n  x string', /a\.txt:2: expected name, type and number/],
    ['type a.v1.B\n  x string one', /expected name, type and number/],
    ['type a.v1.B\n  x string 1 optional', /unknown mark optional/],
    ['type a.v1.B\n  x string 1\n  x string 2', /a\.txt:3: the field has been described already/],
    ['type a.v1.B\ntype a.v1.B', /a\.txt:2: the type has been described already/],
    ['kind a.v1.B', /expected resources, type, or scalar/],
    ['scalar a.v1.B\n  x string 1', /expected resources, type, or scalar without fields/],
    ['resources v1\n  pods Pod: get', /a\.txt:2: expected a resource/],
  ];
  for (const [text, message] of refused) assert.throws(() => read(text), message);
  assert.equal(readSections('a b\n\n  c  d\n', 'f')[0]?.entries[0]?.words[1], 'd');
});
