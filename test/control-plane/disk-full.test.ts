/**
 * A cluster whose disk is full: it responds with the reason why it cannot write; after a kill it recovers once there is space.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { kubectlProgram } from '../../tools/kubectl.ts';
import { must, run } from '../integration/fixtures/programs.ts';
import { until } from '../integration/fixtures/until.ts';
import { supervisedCluster } from './supervised.ts';

const isRoot = process.getuid?.() === 0;

test('a cluster on a full disk', { skip: !isRoot && 'mounting needs root' }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'keelson-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=40m', 'tmpfs', folder]);
  const cluster = await supervisedCluster({}, folder);
  t.after(async () => {
    rmSync(ballast, { force: true });
    await cluster.remove();
    execFileSync('umount', [folder]);
    rmSync(folder, { recursive: true });
  });
  const ballast = join(folder, 'ballast');
  const fill = (): void => {
    const fd = openSync(ballast, 'a');
    assert.throws(() => {
      for (;;) writeSync(fd, Buffer.alloc(4096));
    }, /ENOSPC/);
    closeSync(fd);
  };
  const kubectl = (...args: string[]) =>
    [kubectlProgram(), [`--kubeconfig=${cluster.dataDir}/admin.kubeconfig`, ...args]] as const;
  const create = (name: string) =>
    run(...kubectl('create', 'configmap', name, `--from-literal=data=${'x'.repeat(50_000)}`));

  const { code, stderr } = await cluster.up();
  assert.equal(code, 0, stderr);
  const log = join(cluster.dataDir, 'logs/keelson.log');
  // The log has space of its own, so that its last line is written in any case.
  execFileSync('fallocate', ['--keep-size', '--length', '1MiB', log]);
  fill();
  const refused = await until('a write that fails', async () => {
    const answer = await create(`c${Date.now()}`);
    return answer.code !== 0 && answer;
  });
  assert.match(refused.stderr, /database or disk is full \(free space on its file system\)/);
  assert.match(await must(...kubectl('get', 'namespaces')), /kube-system/);
  assert.match((await cluster.keelson('status')).stdout, /^store .*; the last write failed: .*disk is full/m);

  const { pid } = (await cluster.status())!;
  process.kill(pid, 'SIGKILL');
  // Which write of a start fails first depends on the last free pages.
  const why =
    /cannot (use|open) .*keelson-supervised.*: database or disk is full|no space left on device, write '.*keelson-supervised/;
  await until('a start that fails', async () => why.test(readFileSync(log, 'utf8')));

  rmSync(ballast);
  await cluster.statusAfter(pid);
  await until('a write', async () => (await create('after')).code === 0);
  assert.doesNotMatch((await cluster.keelson('status')).stdout, /write failed/);
});
