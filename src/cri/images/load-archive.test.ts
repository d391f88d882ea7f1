/** Hostile archives: refused with the reason, within bounded work. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { ContentClient } from './content-client.ts';
import { ImageArchiveError } from './image-name.ts';
import { loadArchive } from './load-archive.ts';

type File = readonly [name: string, data: string];

function member(name: string, data: string, type = '0'): Buffer {
  const head = Buffer.alloc(512);
  const body = Buffer.from(data);
  head.write(name, 0);
  head.write(body.length.toString(8).padStart(11, '0'), 124);
  head.write(type, 156);
  head.write('ustar', 257);
  head.fill(' ', 148, 156);
  head.write(
    `${head
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, '0')}\0 `,
    148,
  );
  return Buffer.concat([head, body, Buffer.alloc((512 - (body.length % 512)) % 512)]);
}

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');
const blob = (value: unknown): { readonly file: File; readonly digest: string } => {
  const text = JSON.stringify(value);
  return { file: [`blobs/sha256/${digestOf(text)}`, text], digest: `sha256:${digestOf(text)}` };
};
const named = (digest: string): File => [
  'index.json',
  JSON.stringify({ manifests: [{ digest, annotations: { 'io.containerd.image.name': 'x/y:1' } }] }),
];

/** Accepts all content; counts the calls. */
function fakeContent(): { readonly content: ContentClient; readonly calls: () => number } {
  let calls = 0;
  const content = {
    write: async ({ body }: { readonly body: AsyncIterable<Uint8Array> }) => {
      const hash = createHash('sha256');
      for await (const chunk of body) hash.update(chunk);
      return { digest: `sha256:${hash.digest('hex')}`, written: true };
    },
    has: async () => {
      calls++;
      return false;
    },
    setReferences: async () => void calls++,
    putImage: async () => undefined,
  } as Partial<ContentClient> as ContentClient;
  return { content, calls: () => calls };
}

async function load(bytes: Buffer, content = fakeContent().content): Promise<unknown> {
  async function* chunks(): AsyncGenerator<Uint8Array> {
    yield bytes;
  }
  return loadArchive(chunks(), { content, architecture: 'amd64' });
}

const archive = (files: readonly File[]): Buffer => Buffer.concat(files.map(([name, data]) => member(name, data)));

test('documents of another form than they should have', async () => {
  const odd: readonly (readonly [string, readonly File[]])[] = [
    ['null in the index', [['index.json', '{"manifests":[null]}']]],
    ['an index that is text', [['index.json', '"x"']]],
    ...[{ manifests: [null, 5] }, { config: 5, layers: 7 }, { config: { digest: 5 }, layers: [null] }, 5, null].map(
      (document) => {
        const { file, digest } = blob(document);
        return [JSON.stringify(document), [file, named(digest)]] as const;
      },
    ),
    ['annotations that are null', [['index.json', '{"manifests":[{"digest":5,"annotations":null}]}']]],
    ['null in the manifests', [['manifest.json', '[null]']]],
    ['tags that are a number', [['manifest.json', '[{"Config":5,"RepoTags":5,"Layers":5}]']]],
  ];
  for (const [what, files] of odd) await assert.rejects(load(archive(files)), ImageArchiveError, what);
});

test('an index that names another thousands of times, and itself, is visited once', async () => {
  let last = blob({ config: { digest: 'sha256:none' }, layers: [] });
  const files: File[] = [last.file];
  for (let depth = 0; depth < 3; depth++) {
    const { digest } = last;
    last = blob({ manifests: Array.from({ length: 2000 }, () => ({ digest })) });
    files.push(last.file);
  }
  const { content, calls } = fakeContent();
  await assert.rejects(load(archive([...files, named(last.digest)]), content), ImageArchiveError);
  assert.ok(calls() < 10, `${calls()} calls`);
});

test('names that would fill the memory are refused', async () => {
  const path = `path=${'a'.repeat(1_000_000)}\n`;
  const link = Buffer.concat([member('x', `${path.length + 8} ${path}`, 'x'), member('l', '', '2')]);
  await assert.rejects(
    load(Buffer.concat(Array.from({ length: 70 }, () => link))),
    /too many files, or too long names/,
  );
});

test('a header whose fields have invalid lengths', async () => {
  for (const length of ['1e-9', '0.5', '-1', 'NaN', '0'])
    await assert.rejects(load(Buffer.concat([member('x', `${length} a=b\n`, 'x'), member('f', '')])), /damaged header/);
});
