import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { makeDataDir } from './prepare-instance.ts';

test('a data directory is its owner’s alone, also one that was there before', async () => {
  for (const [name, mode, entries] of [
    ['new', undefined, []],
    ['empty', 0o755, []],
    ['group', 0o750, ['state.db']],
    ['used', 0o777, ['instance.json', 'other']],
  ] as const) {
    const platform = createSimPlatform();
    const dir = `/data/${name}`;
    if (mode !== undefined) {
      await platform.files.makeDir(dir);
      await platform.files.chmod(dir, mode);
    }
    for (const entry of entries) await platform.files.writeFile(`${dir}/${entry}`, '');
    await makeDataDir(platform, dir);
    assert.equal((await platform.files.stat(dir)).mode & 0o777, 0o700, name);
  }
});

test('a directory of others is refused, not closed', async () => {
  for (const [mode, entries] of [
    [0o755, ['photos']],
    [0o1777, []],
    [0o1777, ['logs']],
  ] as const) {
    const platform = createSimPlatform();
    await platform.files.makeDir('/shared');
    await platform.files.chmod('/shared', mode);
    for (const entry of entries) await platform.files.writeFile(`/shared/${entry}`, '');
    await assert.rejects(makeDataDir(platform, '/shared'), /others may enter it/);
    assert.equal((await platform.files.stat('/shared')).mode & 0o7777, mode);
  }
});
