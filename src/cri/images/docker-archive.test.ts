import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContentClient } from './content-client.ts';
import { dockerImages } from './docker-archive.ts';

const blob = (path: string): { digest: string; size: number; magic: Uint8Array } => ({
  digest: `sha256:${path}`,
  size: 1,
  magic: Buffer.from([0x1f, 0x8b]),
});

/** Stores nothing: the test compares only the names. */
const content = {
  write: async () => ({ digest: 'sha256:manifest', written: true }),
  setReferences: async () => undefined,
} as Partial<ContentClient> as ContentClient;

const entryOf = (name: string): unknown => ({ Config: name, Layers: ['layer'], RepoTags: [`${name}:1`] });

test('images keep their names; a given one applies to an archive of one image', async () => {
  const two = [entryOf('a'), entryOf('b')];
  const namesOf = async (manifests: readonly unknown[], chosenNames?: readonly string[]): Promise<unknown> =>
    (await dockerImages({ manifests, blob, content, chosenNames })).map(({ names }) => names);
  assert.deepEqual(await namesOf(two), [['docker.io/library/a:1'], ['docker.io/library/b:1']]);
  assert.deepEqual(await namesOf([entryOf('a')], ['x:1']), [['x:1']]);
  await assert.rejects(namesOf(two, ['x:1']), /several images: they keep their names/);
});
