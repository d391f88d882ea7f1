/** Cgroups and mounts of the real platform on this machine's kernel. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createNodePlatform, type NodePlatform } from '../../src/platform/node/node-platform.ts';

/** The cgroup v2 hierarchy: alone, or beside v1. */
const unified = ['/sys/fs/cgroup', '/sys/fs/cgroup/unified'].find((path) => existsSync(`${path}/cpu.pressure`));
const skip = process.getuid?.() === 0 ? false : 'needs root';

describe('host platform', { skip }, () => {
  let platform: NodePlatform;
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'keelson host '));
    platform = createNodePlatform({ cgroupRoot: `/keelson-test-${process.pid}`, log: { level: 'error' } });
  });
  after(async () => {
    await platform.cgroups.destroy('/');
    platform.close();
    rmSync(folder, { recursive: true });
  });

  test('cgroups limit, count and end processes', async () => {
    const { cgroups, exec } = platform;
    await cgroups.create('/kubepods/pod1', {
      cpuShares: 512,
      cpuQuotaUs: 50_000,
      cpuPeriodUs: 100_000,
      memoryMaxBytes: 64 * 2 ** 20,
      pidsMax: 50,
    });
    await cgroups.create('/kubepods/pod1', { memoryMaxBytes: 32 * 2 ** 20 });
    const pid = await exec.startDaemon('/bin/sh', ['-c', 'sleep 1000 & sleep 1000'], { logFile: join(folder, 'log') });
    await cgroups.addProcess('/kubepods/pod1', pid);
    assert.ok((await cgroups.pids('/kubepods')).includes(pid));
    const stats = await cgroups.stats('/kubepods/pod1');
    assert.ok(stats.pids >= 1 && stats.memoryWorkingSetBytes <= stats.memoryUsageBytes);
    assert.deepEqual(await cgroups.children('/kubepods'), ['pod1']);
    await cgroups.destroy('/kubepods');
    assert.equal(await cgroups.exists('/kubepods'), false);
    assert.equal(await cgroups.exists('/'), true);
    await cgroups.destroy('/kubepods');
  });

  test('cgroups v2 report their pressure', { skip: unified === undefined && 'no pressure here' }, async () => {
    mkdirSync(`${unified}/keelson-test-${process.pid}/pressed/cri-containerd-abc.scope`, { recursive: true });
    for (const id of [undefined, 'abc']) {
      const pressures = await platform.cgroups.pressures('/pressed', id);
      assert.deepEqual(Object.keys(pressures).sort(), ['cpu', 'io', 'memory']);
      const { some, full } = pressures.cpu!;
      for (const line of [some, full]) for (const value of Object.values(line)) assert.ok(value >= 0);
    }
    assert.deepEqual(await platform.cgroups.pressures('/pressed', 'gone'), {});
  });

  test('mounts tmpfs, binds read-only, unmounts', async () => {
    const { mounter, files } = platform;
    const [source, target] = [join(folder, 'tmp fs'), join(folder, 'bound')];
    await files.makeDir(source);
    await files.makeDir(target);
    await mounter.mount({ source: 'tmpfs', target: source, type: 'tmpfs', options: ['size=1m'] });
    try {
      await files.writeFile(`${source}/f`, 'x');
      await mounter.mount({ source, target, options: ['bind', 'ro'] });
      assert.equal(await files.readText(`${target}/f`), 'x');
      await assert.rejects(files.writeFile(`${target}/g`, 'y'), { code: 'EROFS' });
      assert.ok((await mounter.list()).some((mount) => mount.path === source && mount.type === 'tmpfs'));
      assert.equal(await mounter.isMountPoint(target), true);
      await assert.rejects(
        mounter.mount({ source: '/no/such', target, options: ['bind'] }),
        /mount failed: exit status/,
      );
    } finally {
      await mounter.unmount(target);
      await mounter.unmount(source);
    }
    assert.equal(await mounter.isMountPoint(source), false);
    await mounter.unmount(source);
  });
});
