/** The data directory of a name, with clusters of the same name and of the other kind on the machine. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { checkKind, checkNameIsFree, namedDataDir } from './named-data-dir.ts';

const NAME = 'named-data-dir-test';
const home = mkdtempSync(join(tmpdir(), 'keelson-named-'));
const { HOME } = process.env;
process.env['HOME'] = home;
after(() => {
  if (HOME === undefined) delete process.env['HOME'];
  else process.env['HOME'] = HOME;
  rmSync(home, { recursive: true });
});
beforeEach(() => rmSync(join(home, '.local'), { recursive: true, force: true }));

function cluster(folder: string, kind: 'real' | 'simulated', simulated?: true): string {
  const dataDir = join(home, '.local/share', `keelson-${folder}`);
  mkdirSync(dataDir, { recursive: true });
  writeFileSync(join(dataDir, 'settings.json'), JSON.stringify({ name: NAME, simulated }));
  if (kind === 'real') writeFileSync(join(dataDir, 'instance.json'), '{}');
  return dataDir;
}
const refused = { name: 'UserError', exitCode: 2 };

test('a start by name uses a cluster of its kind, and never one of the other', async () => {
  const real = cluster('a', 'real');
  assert.equal(await namedDataDir(NAME, { simulate: false }), real);
  await assert.rejects(namedDataDir(NAME, { simulate: true }), {
    ...refused,
    message: new RegExp(`cluster in ${real}:`),
  });
  const simulated = cluster('b', 'simulated', true);
  assert.equal(await namedDataDir(NAME, { simulate: true }), simulated);
  assert.equal(await namedDataDir(NAME, { simulate: false }), real);
  rmSync(real, { recursive: true });
  await assert.rejects(namedDataDir(NAME, { simulate: false }), refused);
});

test('a name of two clusters is refused with both directories', async () => {
  const [a, b] = [cluster('a', 'real'), cluster('b', 'real')];
  for (const start of [undefined, { simulate: false }])
    await assert.rejects(namedDataDir(NAME, start), (error: Error) =>
      [a, b].every((dir) => error.message.includes(dir)),
    );
});

test('a cluster in an explicit data directory does not get the name of another, and keeps its own', async () => {
  await checkNameIsFree(NAME, join(home, 'x'));
  const dataDir = cluster('a', 'real');
  await assert.rejects(checkNameIsFree(NAME, join(home, 'x')), refused);
  await checkNameIsFree(NAME, dataDir);
});

test('no cluster starts on a data directory of the other kind', () => {
  assert.throws(() => checkKind(cluster('a', 'real'), { simulate: true }), { ...refused, message: /^--simulate: / });
  assert.throws(() => checkKind(cluster('b', 'simulated', true), { simulate: false }), refused);
  checkKind(cluster('c', 'simulated'), { simulate: true });
  checkKind(cluster('a', 'real'), { simulate: false });
  checkKind(cluster('b', 'simulated', true), { simulate: true });
  for (const simulate of [true, false]) checkKind(join(home, 'new'), { simulate });
});
