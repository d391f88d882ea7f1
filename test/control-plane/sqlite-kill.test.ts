/**
 * kill -9 at random points loses no acknowledged write. The kill alone would prove little (the kernel keeps unsynced writes), so
 * as root the store is on a loop-mounted file system whose backing file is copied at the moment of the kill: the copy is the
 * state after a power cut.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createNodeClock } from '../../src/platform/node/clock.ts';
import { createSqliteStore } from '../../src/storage/sqlite/sqlite-store.ts';
import { type Store, StoreError } from '../../src/storage/store.ts';

const writer = fileURLToPath(new URL('./sqlite-kill-writer.ts', import.meta.url));
const isRoot = process.getuid?.() === 0;
const ROUNDS = 6;

interface Acknowledged {
  readonly revision: number;
  /** A number, or `deleted`. */
  readonly what: string;
}

let folder: string;
const mounts: string[] = [];
before(() => (folder = mkdtempSync(join(tmpdir(), 'keelson-kill-'))));
after(() => {
  for (const mount of mounts.toReversed()) execFileSync('umount', [mount]);
  rmSync(folder, { recursive: true });
});

const openStore = (path: string): Promise<Store> => createSqliteStore({ path, platform: { clock: createNodeClock() } });

function mountImage(image: string, name: string): string {
  const target = join(folder, name);
  mkdirSync(target, { recursive: true });
  execFileSync('mount', ['-o', 'loop', image, target]);
  mounts.push(target);
  return target;
}

function unmount(target: string): void {
  execFileSync('umount', [target]);
  mounts.splice(mounts.indexOf(target), 1);
}

/** Runs the writer until it has acknowledged this many writes, kills it, and returns the newest of each key. */
async function writeAndKill(path: string, start: number, atLeast: number): Promise<Map<string, Acknowledged>> {
  const child = spawn(process.execPath, [writer, path, String(start)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  let text = '';
  let lines = 0;
  for await (const chunk of child.stdout.setEncoding('utf8') as AsyncIterable<string>) {
    text += chunk;
    lines += chunk.split('\n').length - 1;
    if (lines >= atLeast) child.kill('SIGKILL');
  }
  await exited;
  assert.ok(lines >= atLeast, 'the writer ended by itself');
  const newest = new Map<string, Acknowledged>();
  for (const line of text.split('\n').slice(0, -1)) {
    const [revision, key, what] = line.split(' ');
    if ((newest.get(key!)?.revision ?? 0) < Number(revision))
      newest.set(key!, { revision: Number(revision), what: what! });
  }
  return newest;
}

/** Every acknowledged write, or a later one of its key, must be there. */
async function check(path: string, newest: Map<string, Acknowledged>): Promise<void> {
  const store = await openStore(path);
  try {
    const { revision } = await store.range({ start: '/', end: '0', countOnly: true });
    for (const [key, acknowledged] of newest) {
      assert.ok(
        revision >= acknowledged.revision,
        `the store is at ${revision}, ${acknowledged.revision} was acknowledged`,
      );
      const then = await store.range({ start: key, end: '', revision: acknowledged.revision });
      const found = then.entries[0];
      const text = found === undefined ? 'deleted' : Buffer.from(found.value).toString().split(' ')[0];
      assert.equal(text, acknowledged.what, `${key} at ${acknowledged.revision}`);
      if (found !== undefined) assert.equal(found.modRevision, acknowledged.revision);
    }
  } finally {
    await store.close();
  }
}

describe('kill -9', () => {
  test('loses no acknowledged write, repeatedly on one store', async () => {
    const path = join(folder, 'store.db');
    for (let round = 0; round < ROUNDS; round++) {
      const newest = await writeAndKill(path, round * 1_000_000 + 1, 200 + Math.floor(Math.random() * 1000));
      assert.ok(newest.size > 16);
      await check(path, newest);
    }
  });

  test('nor does a power cut at that moment', { skip: isRoot ? false : 'needs root for a loop mount' }, async () => {
    const image = join(folder, 'disk.img');
    execFileSync('truncate', ['-s', '128M', image]);
    execFileSync('mkfs.ext4', ['-q', '-F', image]);
    const disk = mountImage(image, 'disk');
    for (let round = 0; round < 3; round++) {
      const path = join(disk, 'store.db');
      const newest = await writeAndKill(path, round * 1_000_000 + 1, 200 + Math.floor(Math.random() * 1000));
      const copy = join(folder, `copy-${round}.img`);
      copyFileSync(image, copy);
      const copied = mountImage(copy, `copied-${round}`);
      await check(join(copied, 'store.db'), newest);
      unmount(copied);
      rmSync(copy);
    }
    unmount(disk);
  });
});

test(
  'a full disk refuses writes with a clear error and loses nothing',
  { skip: isRoot ? false : 'needs root for a mount' },
  async () => {
    const target = join(folder, 'small');
    mkdirSync(target);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', target]);
    mounts.push(target);
    const path = join(target, 'store.db');
    const store = await openStore(path);
    let written = 0;
    const isFull = (error: unknown): boolean =>
      error instanceof StoreError && error.code === 'full' && /free space/.test(error.message);
    await assert.rejects(async () => {
      for (; written < 1000; written++)
        await store.put({ key: `/full/${String(written).padStart(4, '0')}`, value: new Uint8Array(10_000) });
    }, isFull);
    const { count, revision } = await store.range({ start: '/full/', end: '/full0', countOnly: true });
    assert.deepEqual([count, revision], [written, written + 1]);
    await store.close();
    // With space again, everything acknowledged is there.
    const roomy = join(folder, 'roomy');
    cpSync(target, roomy, { recursive: true });
    const reopened = await openStore(join(roomy, 'store.db'));
    assert.equal((await reopened.range({ start: '/full/', end: '/full0' })).entries.length, written);
    assert.ok((await reopened.put({ key: '/full/next', value: new Uint8Array(10_000) })).ok);
    await reopened.close();
    unmount(target);
  },
);
