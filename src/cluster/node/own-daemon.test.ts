/** A daemon of Keelson's own that ignores SIGTERM. Real processes: this tests signals. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createNodePlatform } from '../../platform/node/node-platform.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { OwnDaemon } from './own-daemon.ts';

test('its child processes end with it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'keelson-own-daemon-'));
  const platform = createNodePlatform();
  const { clock, exec } = platform;
  const [recordFile, logFile, childFile] = ['record', 'log', 'child'].map((name) => join(folder, name));
  const daemon = new OwnDaemon(platform, {
    recordFile: recordFile!,
    logFile: logFile!,
    marks: [childFile!],
    graceMs: 0,
  });
  let pid = 0;
  try {
    // Each line holds a program that survives SIGTERM.
    const child = 'trap "" TERM; echo $$ > "$0.new"; mv "$0.new" "$0"; while :; do sleep 300; done';
    const parent = `trap "" TERM; sh -c '${child}' "$0" & while :; do wait; done`;
    await daemon.ensure({ command: ['/bin/sh', '-c', parent, childFile!], configuration: [] });
    while (pid === 0) {
      await clock.sleep(5);
      pid = Number(await readFile(childFile!, 'utf8').catch(() => '0'));
    }
    assert.equal(exec.kill(pid, 0), true);
    await daemon.remove();
    while (exec.kill(pid, 0)) await clock.sleep(5);
    assert.equal(daemon.isRunning(), false);
  } finally {
    if (pid > 0 && exec.kill(pid, 0)) exec.kill(pid, 'SIGKILL');
    platform.close();
    await rm(folder, { recursive: true });
  }
});

for (const what of ['taken away', 'replaced'])
  test(`one that a start began and did not record before it was killed is ${what}`, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'keelson-own-daemon-'));
    const platform = createNodePlatform();
    const { clock, exec } = platform;
    const recordFile = join(folder, 'record');
    const config = { recordFile, logFile: join(folder, 'log'), marks: ['/bin/sleep', '1000'], graceMs: 1000 };
    const start = (daemon: OwnDaemon) => daemon.ensure({ command: ['/bin/sleep', '1000'], configuration: [] });
    try {
      const killed = new OwnDaemon(platform, config);
      await start(killed);
      const pid = (await killed.pid())!;
      await writeFile(recordFile, '');
      const next = new OwnDaemon(platform, config);
      await (what === 'replaced' ? start(next) : next.remove());
      while (exec.kill(pid, 0)) await clock.sleep(5);
      assert.equal(next.isRunning(), what === 'replaced');
      await next.remove();
      assert.equal(next.isRunning(), false);
    } finally {
      platform.close();
      await rm(folder, { recursive: true });
    }
  });

test('its record is there before it is started', async () => {
  const platform = createSimPlatform();
  const [recordFile, seen] = ['/record', [] as boolean[]];
  const exec = {
    ...platform.exec,
    startDaemon: async () => {
      seen.push(await platform.files.exists(recordFile));
      throw new Error('killed');
    },
  };
  const config = { recordFile, logFile: '/log', marks: [], graceMs: 0 };
  const daemon = new OwnDaemon({ ...platform, exec }, config);
  await assert.rejects(daemon.ensure({ command: ['a'], configuration: [] }), /killed/);
  assert.deepEqual(seen, [true]);
});
