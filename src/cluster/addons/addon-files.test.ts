import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { addonFiles, addonName, addonObjects } from './addon-files.ts';

test('manifests of a folder and those below, without hidden, skipped and other files', async () => {
  const { files } = createSimPlatform();
  await files.makeDir('/m/below');
  for (const name of ['b.yaml', 'a.json', '.hidden.yaml', 'notes.txt', 'off.yml', 'off.yml.skip', 'below/c.yml'])
    await files.writeFile(`/m/${name}`, '');
  const { found, folders } = await addonFiles(files, '/m');
  assert.deepEqual(
    [found.map(({ path }) => path), folders],
    [
      ['/m/a.json', '/m/b.yaml', '/m/below/c.yml'],
      ['/m', '/m/below'],
    ],
  );
});

test('names of files become names of objects', () => {
  for (const [file, name] of [
    ['web.yaml', 'web'],
    ['My Chart_2.yml', 'my-chart-2'],
    ['a.b.json', 'a.b'],
    ['-x-.yaml', 'x'],
  ] as const)
    assert.equal(addonName(file), name);
});

test('namespaces and definitions of kinds come first, lists are expanded, empty documents skipped', async () => {
  const text = `
apiVersion: v1
kind: List
items: [{apiVersion: v1, kind: Pod, metadata: {name: p}}, {apiVersion: v1, kind: Namespace, metadata: {name: ns}}]
---
---
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: c}}
`;
  assert.deepEqual(
    (await addonObjects(text)).map(({ metadata }) => metadata.name),
    ['ns', 'c', 'p'],
  );
  await assert.rejects(addonObjects('just a text'), /not a Kubernetes object: a string/);
  const withoutKind = '{apiVersion: v1, metadata: {name: s}, stringData: {password: hidden}}';
  await assert.rejects(addonObjects(withoutKind), {
    message: 'not a Kubernetes object: kind is missing, of the object s',
  });
  await assert.rejects(addonObjects('- password: hidden'), { message: 'not a Kubernetes object: a list' });
  await assert.rejects(addonObjects('kind: Pod'), /apiVersion is missing/);
});
