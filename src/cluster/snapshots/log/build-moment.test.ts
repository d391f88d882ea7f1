/** States at given moments, from real files: after a kill, beside a running server, and of damaged logs. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Files } from '../../../platform/files.ts';
import { createNodeFiles } from '../../../platform/node/files.ts';
import { VirtualClock } from '../../../platform/sim/virtual-clock.ts';
import { readLogPosition } from '../../../storage/sqlite/change-log/log-files.ts';
import { createSqliteStore } from '../../../storage/sqlite/sqlite-store.ts';
import { buildMoment } from './build-moment.ts';
import { completeLog } from './complete-log.ts';
import { baseName, LOG_FOLDER, logFolderName } from './log-names.ts';
import { LogWriter } from './log-writer.ts';

const IDENTITY = '0123456789abcdef';
const SNAPSHOT = 'snapshot-n-1000000000';
const series = { base: 'snapshot', nodeName: 'n' };
const files = createNodeFiles();
let folder: string;
let worlds = 0;
before(async () => (folder = await mkdtemp(join(tmpdir(), 'keelson-moments-'))));
after(() => rm(folder, { recursive: true }));

/** A store whose log begins with a snapshot. */
async function world() {
  const clock = new VirtualClock({ startMs: 1_000_000 });
  const home = join(folder, String(worlds++));
  const snapshotDir = join(home, 'snapshots');
  await mkdir(snapshotDir, { recursive: true });
  const storeFile = join(home, 'state.db');
  const store = await createSqliteStore({ path: storeFile, platform: { clock } });
  const changeLog = store.changeLog!;
  const logDir = join(snapshotDir, LOG_FOLDER, logFolderName(series, IDENTITY));
  const writer = new LogWriter({ files, clock, changeLog }, logDir, IDENTITY);
  const put = async (count: number): Promise<void> => {
    for (let at = 0; at < count; at++) {
      await clock.advance(10);
      await store.put({ key: `/${at}`, value: Buffer.from(String(clock.nowMs())) });
    }
  };
  await writer.open(await changeLog.begin(IDENTITY));
  await put(3);
  await store.backup!(join(snapshotDir, SNAPSHOT));
  const { revision, timeMs } = readLogPosition(join(snapshotDir, SNAPSHOT))!;
  await writeFile(join(logDir, baseName({ revision, timeMs, snapshot: SNAPSHOT })), '');
  const places = { files, snapshotDir, series, bucket: undefined };
  const complete = () => completeLog({ clock, files }, { storeFile, snapshotDir, series });
  return { clock, store, writer, put, logDir, places, complete, target: join(home, 'made.db') };
}

test('a kill before the first segment loses no change', async () => {
  const { clock, store, put, places, complete, target } = await world();
  await put(4);
  const { revision } = await store.status();
  await store.close();
  const last = await complete();
  assert.equal((await buildMoment(places, { end: 'latest', last }, target)).revision, revision);
  const now = { timeMs: clock.nowMs() };
  assert.equal((await buildMoment(places, { end: now, last }, target)).revision, revision);
});

test('a running server replaces the last segment meanwhile', async () => {
  const { store, writer, put, places, target } = await world();
  await put(2);
  await writer.write();
  const { revision } = await store.status();
  const write = async (): Promise<void> => {
    await put(1);
    await writer.write();
  };
  let listings = 0;
  let stats = 0;
  const busy: Files = {
    ...files,
    async readDir(path) {
      const names = await files.readDir(path);
      if (path.endsWith(IDENTITY) && ++listings === 1) await write(); // Between the names and their sizes.
      return names;
    },
    async lstat(path) {
      const stat = await files.lstat(path);
      if (path.endsWith('.log.gz') && ++stats === 1) await write(); // Between the listing and the copy.
      return stat;
    },
  };
  const built = await buildMoment({ ...places, files: busy }, { end: { revision } }, target);
  assert.equal(built.revision, revision);
  assert.deepEqual([listings, stats], [3, 2]);
  await store.close();
});

test('a segment with fewer revisions than its name states is damaged', async () => {
  const { store, writer, put, logDir, places, complete, target } = await world();
  await writer.write();
  const first = (await readdir(logDir)).find((name) => name.endsWith('.log.gz'))!;
  const { byteLength } = await readFile(join(logDir, first));
  await put(3);
  await writer.write();
  await store.close();
  const segment = join(
    logDir,
    (await readdir(logDir)).find((name) => name.endsWith('.log.gz'))!,
  );
  const bytes = await readFile(segment);
  await writeFile(segment, bytes.fill(0, byteLength)); // As after a power failure; gzip treats zeros as padding.
  const last = await complete();
  await assert.rejects(buildMoment(places, { end: 'latest', last }, target), /the change log .* is damaged/);
  const now = { timeMs: 2_000_000 };
  await assert.rejects(buildMoment(places, { end: now, last }, target), /the change log .* is damaged/);
});
