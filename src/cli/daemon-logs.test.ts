import assert from 'node:assert/strict';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createSimPlatform } from '../platform/sim/sim-platform.ts';
import { boundDaemonLogs } from './daemon-logs.ts';

test('log files that other programs append to are rotated, and three old files are kept', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'daemon-logs-'));
  const platform = createSimPlatform();
  const fd = openSync(join(folder, 'containerd.log'), 'a');
  const cancel = boundDaemonLogs(platform, folder, 10_000);
  try {
    for (let round = 0; round < 6; round++) {
      writeSync(fd, `round ${round} ${'x'.repeat(10_000)}\n`);
      await platform.clock.advance(30_000);
      // Real files take real time, so this polls.
      while (statSync(join(folder, 'containerd.log')).size > 0) await new Promise(setImmediate);
    }
    writeSync(fd, 'after');
    assert.equal(readFileSync(join(folder, 'containerd.log'), 'utf8'), 'after');
    assert.deepEqual(
      readdirSync(folder).toSorted(),
      ['', '.1', '.2', '.3'].map((age) => `containerd.log${age}`),
    );
    assert.match(readFileSync(join(folder, 'containerd.log.1'), 'utf8'), /^round 5/);
    assert.deepEqual(platform.log.entries, []);
  } finally {
    cancel();
    closeSync(fd);
    rmSync(folder, { recursive: true });
  }
});

test('a log file that cannot be rotated stays as it is, and that is logged', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'daemon-logs-'));
  const platform = createSimPlatform();
  const path = join(folder, 'etcd.log');
  writeFileSync(path, 'x'.repeat(10_000));
  // Directories that are not empty do not move onto each other.
  for (const age of [1, 2, 3]) mkdirSync(join(`${path}.${age}`, 'full'), { recursive: true });
  const cancel = boundDaemonLogs(platform, folder, 10_000);
  try {
    await platform.clock.advance(30_000);
    while (platform.log.entries.length === 0) await new Promise(setImmediate);
    assert.equal(platform.log.entries[0]!.message, 'a log file cannot be rotated');
    assert.equal(statSync(path).size, 10_000);
    assert.deepEqual(
      readdirSync(folder).toSorted(),
      ['', '.1', '.2', '.3'].map((age) => `etcd.log${age}`),
    );
  } finally {
    cancel();
    rmSync(folder, { recursive: true });
  }
});

test('where no such program runs, its log is not checked', () => {
  const folder = mkdtempSync(join(tmpdir(), 'daemon-logs-'));
  const platform = createSimPlatform();
  const timers = platform.clock.pendingTimers;
  const cancel = boundDaemonLogs(platform, folder);
  assert.equal(platform.clock.pendingTimers, timers);
  cancel();
  rmSync(folder, { recursive: true });
});
