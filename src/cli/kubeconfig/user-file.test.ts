import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { changeKubeconfig, userKubeconfig } from './user-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'keelson-user-file-'));
after(() => rmSync(folder, { recursive: true }));
const append = (text: string): string => `${text}more\n`;

test('a file and its folder are made, with mode 0600, and nothing else is left in it', async () => {
  const file = join(folder, 'a/.kube/config');
  assert.equal(await changeKubeconfig(file, append, undefined), true);
  assert.deepEqual([readFileSync(file, 'utf8'), statSync(file).mode & 0o777], ['more\n', 0o600]);
  assert.deepEqual(readdirSync(join(folder, 'a/.kube')), ['config']);
});

test('an unchanged file is not written, but gets the requested mode', async () => {
  const file = join(folder, 'same');
  writeFileSync(file, 'x', { mode: 0o600 });
  const before = statSync(file).ino;
  assert.equal(await changeKubeconfig(file, (text) => text, 0o640), false);
  assert.deepEqual([statSync(file).ino, statSync(file).mode & 0o777], [before, 0o640]);
});

test('a link stays one: the file behind it changes', async () => {
  mkdirSync(join(folder, 'dotfiles'));
  writeFileSync(join(folder, 'dotfiles/config'), 'x');
  symlinkSync(join(folder, 'dotfiles/config'), join(folder, 'link'));
  await changeKubeconfig(join(folder, 'link'), append, undefined);
  assert.ok(lstatSync(join(folder, 'link')).isSymbolicLink());
  assert.equal(readFileSync(join(folder, 'dotfiles/config'), 'utf8'), 'xmore\n');
});

test('changes at the same time wait for one another, and a failed change leaves file and lock as before', async () => {
  const file = join(folder, 'shared');
  await Promise.all(Array.from({ length: 8 }, () => changeKubeconfig(file, append, undefined)));
  assert.equal(readFileSync(file, 'utf8'), 'more\n'.repeat(8));
  const failing = changeKubeconfig(
    file,
    () => {
      throw new Error('no');
    },
    undefined,
  );
  await assert.rejects(failing, /^Error: no$/);
  assert.deepEqual([existsSync(`${file}.lock`), readFileSync(file, 'utf8')], [false, 'more\n'.repeat(8)]);
});

test('which file: the first of KUBECONFIG that is no cluster’s own, else that in the home directory', () => {
  const HOME = '/home/me';
  chmodSync(folder, 0o700);
  for (const [KUBECONFIG, expected] of [
    [undefined, '/home/me/.kube/config'],
    ['/x/mine:/y/other', '/x/mine'],
    ['/var/lib/keelson/admin.kubeconfig', '/home/me/.kube/config'],
    [':/var/lib/keelson/admin.kubeconfig:/y/other', '/y/other'],
  ] as const)
    assert.equal(userKubeconfig({ HOME, ...(KUBECONFIG !== undefined && { KUBECONFIG }) }), expected);
});
