import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { createServer, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { readTar, TarError } from '../../cri/images/tar-reader.ts';
import { openArchive } from './open-archive.ts';

const folder = mkdtempSync(join(tmpdir(), 'keelson-archive-'));
after(() => rmSync(folder, { recursive: true }));

/** Larger than the read-ahead, also compressed. */
const NO_ARCHIVE = Buffer.concat([Buffer.from('<html>'), randomBytes(8_000_000)]);
const EMPTY_ARCHIVE = Buffer.alloc(10_240);

function isOpen(path: string): boolean {
  return readdirSync('/proc/self/fd').some((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`) === path;
    } catch {
      return false; // That of the listing itself.
    }
  });
}

async function read(path: string): Promise<void> {
  for await (const _member of readTar(await openArchive(path)));
}

const forms: readonly [string, (data: Buffer) => Buffer][] = [
  ['plain', (data) => data],
  ['gzip', (data) => gzipSync(data, { level: 0 })],
  ['zstd', (data) => zstdCompressSync(data)],
];

for (const [form, pack] of forms)
  test(`a ${form} file is closed after its end, when it is no archive, and without a reader`, async () => {
    const path = join(folder, form);
    const closed = async (): Promise<void> => {
      // Closing takes some turns of the event loop; a leaked file stays open.
      for (let turns = 0; turns < 10_000 && isOpen(path); turns += 1) await turn();
      assert.equal(isOpen(path), false);
    };
    writeFileSync(path, pack(EMPTY_ARCHIVE));
    await read(path);
    await closed();
    writeFileSync(path, pack(NO_ARCHIVE));
    await assert.rejects(read(path), TarError);
    await closed();
    await openArchive(path);
    await closed();
  });

/** What is said of an engine that answers so. */
async function refusal(answer: (response: ServerResponse) => unknown): Promise<unknown> {
  const socket = join(mkdtempSync(join(folder, 'engine-')), 'docker.sock');
  const server = createServer((_, response) => answer(response.writeHead(500)));
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  const archive = await openArchive('docker:app', { DOCKER_HOST: `unix://${socket}` });
  const error = await archive[Symbol.asyncIterator]()
    .next()
    .catch((caught: unknown) => caught);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  return error instanceof Error ? error.message : error;
}

test('the message of an engine is decoded as a whole', async () => {
  const body = Buffer.from('{"message":"gelöscht"}');
  const split = body.indexOf('ö') + 1;
  const message = await refusal(async (response) => {
    response.write(body.subarray(0, split));
    for (let turns = 0; turns < 100; turns += 1) await turn();
    response.end(body.subarray(split));
  });
  assert.equal(message, 'docker answers 500: gelöscht');
});

test('an engine that does not end its message is left', async () => {
  let written = 0;
  const message = await refusal(async (response) => {
    for (; written < 1000 && !response.destroyed; written += 1) {
      response.write(Buffer.alloc(16 * 1024, ' '));
      await turn();
    }
    response.end();
  });
  assert.equal(message, 'docker answers 500');
  assert.ok(written < 1000);
});
