/** Uploads on a disk that fills up, over real files. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, test } from 'node:test';
import type { Files } from '../../platform/files.ts';
import { createNodePlatform } from '../../platform/node/node-platform.ts';
import { BlobStore, contentDigest } from './blob-store.ts';
import type { RegistryError } from './registry-error.ts';
import { UPLOAD_LIMITS, Uploads } from './uploads.ts';

const MIB = 1024 * 1024;
const CONTENT = Buffer.from('content');
const DIGEST = contentDigest(CONTENT);
const FULL = { code: 'ENOSPC' };

const platform = createNodePlatform({ startSpawner: false, log: { level: 'error' } });
after(() => platform.close());
const places: string[] = [];
afterEach(() => {
  for (const place of places.splice(0)) rmSync(place, { recursive: true, force: true });
});

async function startUploads(
  filesAt: (place: string) => Partial<Files>,
  reserveBytes = 0,
): Promise<{ readonly uploads: Uploads; readonly place: string; readonly blobs: BlobStore }> {
  const place = mkdtempSync(join(tmpdir(), 'keelson-uploads-'));
  places.push(place);
  const files = { ...platform.files, ...filesAt(place) };
  const blobs = new BlobStore(files, place, reserveBytes);
  await blobs.open();
  const uploads = new Uploads({ files, clock: platform.clock, random: platform.random, blobs }, place);
  await uploads.open();
  return { uploads, place, blobs };
}

async function* pieces(...all: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* all;
}

const full = (): Promise<never> => Promise.reject(Object.assign(new Error('no space'), FULL));
const unknown = (error: unknown): boolean => (error as RegistryError).code === 'BLOB_UPLOAD_UNKNOWN';

test('an upload ends with a piece that the disk took in part', async () => {
  let isFull = true;
  const { uploads, place, blobs } = await startUploads(() => ({
    async open(...request) {
      const handle = await platform.files.open(...request);
      const append = async (data: string | Uint8Array): Promise<void> => {
        await handle.append(isFull ? data.slice(0, 2) : data);
        if (isFull) await full();
      };
      return { ...handle, append };
    },
  }));
  const id = await uploads.begin('a', 'sha256');
  await assert.rejects(uploads.append('a', id, pieces(CONTENT)), FULL);
  isFull = false;
  await assert.rejects(uploads.finish('a', id, DIGEST, pieces(CONTENT)), unknown);
  assert.deepEqual(readdirSync(join(place, 'uploads')), []);
  const again = await uploads.begin('a', 'sha256');
  await uploads.finish('a', again, DIGEST, pieces(CONTENT));
  assert.deepEqual(readFileSync(blobs.path(DIGEST)), CONTENT);
});

test('an upload ends that cannot be put away: its hash is of the whole', async () => {
  const { uploads, place } = await startUploads(() => ({ rename: full }));
  const id = await uploads.begin('a', 'sha256');
  await assert.rejects(uploads.finish('a', id, DIGEST, pieces(CONTENT)), FULL);
  await assert.rejects(uploads.finish('a', id, DIGEST, pieces()), unknown);
  assert.deepEqual(readdirSync(join(place, 'uploads')), []);
});

test('an upload without a file uses no slot', async () => {
  const { uploads } = await startUploads(() => ({ writeFile: full }));
  for (let count = 0; count <= UPLOAD_LIMITS.maxCount; count++)
    await assert.rejects(uploads.begin('a', 'sha256'), FULL);
});

test('uploads that are under way together leave the reserve of the disk free', async () => {
  const writtenBytes = (place: string): number =>
    readdirSync(join(place, 'uploads')).reduce((sum, id) => sum + statSync(join(place, 'uploads', id)).size, 0);
  const { uploads, place } = await startUploads(
    (at) => ({
      statFileSystem: async (path) => ({
        ...(await platform.files.statFileSystem(path)),
        availableBytes: 512 * MIB - writtenBytes(at),
      }),
    }),
    480 * MIB,
  );
  const piece = Buffer.alloc(MIB);
  const ids = await Promise.all([1, 2, 3, 4].map(() => uploads.begin('a', 'sha256')));
  const results = await Promise.allSettled(
    ids.map((id) => uploads.append('a', id, pieces(...Array.from({ length: 30 }, () => piece)))),
  );
  const refused = results.filter((result) => result.status === 'rejected');
  assert.ok(refused.length > 0 && refused.every(({ reason }) => (reason as RegistryError).status === 507));
  assert.ok(writtenBytes(place) < 72 * MIB, `${writtenBytes(place)} bytes were written`);
});
