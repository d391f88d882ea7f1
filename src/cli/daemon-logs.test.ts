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
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createSimPlatform } from '../platform/sim/sim-platform.ts';
import { boundDaemonLogs } from './daemon-logs.ts';

test('files that other programs append to stay bounded, three old ones beside each', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'daemon-logs-'));
  const platform = createSimPlatform();
  const cancel = boundDaemonLogs(platform, folder, 10_000);
  const fd = openSync(join(folder, 'containerd.log'), 'a');
  try {
    for (let round = 0; round < 6; round++) {
      writeSync(fd, `round ${round} ${'x'.repeat(10_000)}\n`);
      await platform.clock.advance(30_000);
      // The files are real: their work takes real time.
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
    mkdirSync(join(folder, 'etcd.log', 'x'), { recursive: true });
  } finally {
    cancel();
    closeSync(fd);
    rmSync(folder, { recursive: true });
  }
});
