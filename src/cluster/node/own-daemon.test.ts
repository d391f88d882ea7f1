/** A daemon of Keelson's own that does not end by itself. Real processes: signals are what is tested. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createNodePlatform } from '../../platform/node/node-platform.ts';
import { OwnDaemon } from './own-daemon.ts';

test('what it has started ends with it', async () => {
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
