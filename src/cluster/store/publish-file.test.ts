import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { partialBeside, publish } from './publish-file.ts';

test('names of partial files cannot be guessed', () => {
  const names = Array.from({ length: 100 }, () => partialBeside('/tmp/backup.db'));
  assert.equal(new Set(names).size, 100);
  assert.ok(names.every((name) => /^\/tmp\/backup\.db\.[0-9a-f]{16}\.partial$/.test(name)));
});

const shm = await stat('/dev/shm').catch(() => undefined);
const tmp = await stat('/tmp');
const skip = shm === undefined || shm.dev === tmp.dev ? 'no second file system' : false;

test(
  'over file systems, a link planted at the old name of the partial file leads nothing elsewhere',
  { skip },
  async (t) => {
    const from = await mkdtemp('/dev/shm/keelson-publish-');
    const to = await mkdtemp('/tmp/keelson-publish-');
    t.after(() => Promise.all([from, to].map((dir) => rm(dir, { recursive: true }))));
    await writeFile(`${from}/copy`, 'secrets', { mode: 0o600 });
    await writeFile(`${to}/victim`, 'kept');
    await symlink(`${to}/victim`, `${to}/backup.partial`);
    await publish(`${from}/copy`, `${to}/backup`);
    assert.equal(await readFile(`${to}/victim`, 'utf8'), 'kept');
    assert.equal(await readFile(`${to}/backup`, 'utf8'), 'secrets');
    assert.equal((await stat(`${to}/backup`)).mode & 0o777, 0o600);
    assert.deepEqual((await readdir(to)).toSorted(), ['backup', 'backup.partial', 'victim']);
  },
);
