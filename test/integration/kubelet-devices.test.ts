/** File systems on devices, and their owners, with this machine's kernel and programs. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, lstat, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { formatAndMount } from '../../src/kubelet/volumes/format-and-mount.ts';
import { setVolumeOwnership, setVolumeOwnershipByProgram } from '../../src/kubelet/volumes/volume-ownership.ts';
import { createNodePlatform, type NodePlatform } from '../../src/platform/node/node-platform.ts';
import { must } from './fixtures/programs.ts';

/** A container that swaps the files of a volume with links to another folder; every name exists all the time. */
const SWAPS = `
const { linkSync, readdirSync, renameSync, symlinkSync } = require('node:fs');
const [volume, outside] = process.argv.slice(1);
const names = readdirSync(outside);
for (const name of names) linkSync(volume + '/' + name, volume + '/.files/' + name);
for (;;)
  for (const swap of [name => symlinkSync(outside + '/' + name, volume + '/.new'), name => linkSync(volume + '/.files/' + name, volume + '/.new')])
    for (const name of names) {
      swap(name);
      renameSync(volume + '/.new', volume + '/' + name);
    }`;

describe('devices', { skip: process.getuid?.() === 0 ? false : 'needs root' }, () => {
  let platform: NodePlatform;
  let root: string;
  let device = '';
  const keepAlive = setInterval(() => undefined, 60_000);

  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'keelson-devices-'));
    platform = createNodePlatform({ log: { level: 'error' }, cgroupRoot: `/keelson-test-devices-${process.pid}` });
  });
  after(async () => {
    for (const { path } of (await platform.mounter.list()).toReversed())
      if (path.startsWith(`${root}/`)) await platform.mounter.unmount(path);
    if (device !== '') await must('losetup', ['--detach', device]);
    platform.close();
    clearInterval(keepAlive);
    await rm(root, { recursive: true, force: true });
  });

  it('an empty device is formatted, and keeps its file system', async () => {
    const file = join(root, 'disk');
    await writeFile(file, Buffer.alloc(0));
    await must('truncate', ['--size', '32M', file]);
    device = (await must('losetup', ['--find', '--show', file])).trim();
    const target = join(root, 'mnt');
    await mkdir(target);
    const request = { device, target, fsType: 'ext4', readOnly: false, options: ['noatime'] };
    await formatAndMount(platform, request);
    await writeFile(join(target, 'kept'), 'kept');
    await platform.mounter.unmount(target);
    await formatAndMount(platform, request);
    assert.equal((await lstat(join(target, 'kept'))).size, 4);
    await platform.mounter.unmount(target);
    await assert.rejects(formatAndMount(platform, { ...request, fsType: 'xfs' }), {
      message: 'failed to mount the volume as "xfs", it already contains ext4',
    });
  });

  it('the programs change the group of files exactly as the kubelet itself', async () => {
    const seen: unknown[] = [];
    for (const byProgram of [false, true]) {
      const path = join(root, `tree-${byProgram}`);
      await mkdir(join(path, 'below'), { recursive: true });
      await writeFile(join(path, 'below/file'), '', { mode: 0o600 });
      await writeFile(join(path, 'tool'), '', { mode: 0o700 });
      await chmod(path, 0o700);
      await symlink('/etc/passwd', join(path, 'link'));
      const order = { path, fsGroup: 4242, readOnly: false };
      if (byProgram) await setVolumeOwnershipByProgram(platform.exec, order);
      else await setVolumeOwnership({ ...order, files: platform.files });
      const facts = ['', 'below', 'below/file', 'tool', 'link'].map(async (name) => {
        const { mode, gid } = await lstat(join(path, name));
        return [name, mode.toString(8), gid];
      });
      seen.push(await Promise.all(facts));
    }
    assert.deepEqual(seen[1], seen[0]);
    assert.notEqual((await lstat('/etc/passwd')).gid, 4242);
    const again = { path: join(root, 'tree-true'), fsGroup: 4242, readOnly: false, policy: 'OnRootMismatch' };
    await writeFile(join(again.path, 'later'), '', { mode: 0o600 });
    await setVolumeOwnershipByProgram(platform.exec, again);
    assert.equal((await lstat(join(again.path, 'later'))).mode & 0o777, 0o600, 'the root is right already');
  });

  it('a program changes no file outside the volume, while a container replaces files by links', async () => {
    const [volume, outside] = [join(root, 'raced'), join(root, 'outside')];
    const names = Array.from({ length: 200 }, (_, at) => `f${at}`);
    await mkdir(join(volume, '.files'), { recursive: true });
    for (const path of [volume, outside]) {
      await mkdir(path, { recursive: true });
      for (const name of names) await writeFile(join(path, name), '', { mode: 0o600 });
    }
    const container = spawn(process.execPath, ['-e', SWAPS, volume, outside], { stdio: 'ignore' });
    try {
      for (let round = 0; round < 10; round++)
        await setVolumeOwnershipByProgram(platform.exec, { path: volume, fsGroup: 4242, readOnly: false }).catch(
          (error: unknown) => assert.match(String(error), /giving .* failed: (ENOENT|ENOTDIR|ELOOP)/),
        );
    } finally {
      container.kill('SIGKILL');
      await once(container, 'exit');
    }
    for (const name of ['', ...names]) {
      const { mode, gid } = await lstat(join(outside, name));
      assert.deepEqual([mode & 0o7777, gid], [name === '' ? 0o755 : 0o600, 0], name);
    }
  });

  it('a program that fails reports the reason', async () => {
    const order = { path: join(root, 'nothing'), fsGroup: 4242, readOnly: false, policy: 'OnRootMismatch' };
    await assert.rejects(
      setVolumeOwnershipByProgram(platform.exec, order),
      /to group 4242 failed: ENOENT: no such file/,
    );
  });
});
