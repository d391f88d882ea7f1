import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createNodePlatform } from '../platform/node/node-platform.ts';
import { readSettings } from './arguments/settings-file.ts';
import { listParts, switchPart } from './addon-parts.ts';
import { SettingsWriter } from './settings-writer.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'keelson-test-settings-'));
const { files, close } = createNodePlatform({ startSpawner: false, log: { level: 'error' } });
const status = { server: 'https://127.0.0.1:7443', role: undefined };
const stateOf = (name: string): string | undefined => listParts(dataDir).find((part) => part.name === name)?.state;

after(() => {
  close();
  rmSync(dataDir, { recursive: true, force: true });
});

test('a part that was changed before the start has taken effect; one that is changed during it waits for the next', async () => {
  await switchPart(files, dataDir, 'metrics', false);
  const writer = new SettingsWriter(files, dataDir);
  const settings = { dns: 'keelson', metrics: 'none' };
  await switchPart(files, dataDir, 'dns', false);
  await writer.write(settings, status);
  assert.deepEqual([stateOf('metrics'), stateOf('dns')], ['disabled', 'disabled from the next start']);
  assert.equal(readSettings(dataDir)['https-port'], '7443');

  // The state moves to another store, and the cluster starts again in the same process.
  await switchPart(files, dataDir, 'metrics', true);
  await writer.write({ ...settings, store: 'etcd=https://127.0.0.1:2379' }, status);
  assert.deepEqual(
    [stateOf('metrics'), stateOf('dns')],
    ['enabled from the next start', 'disabled from the next start'],
  );
});

test('a part that was changed before the start and is changed back during it keeps the later change', async () => {
  rmSync(join(dataDir, 'settings.json'));
  await switchPart(files, dataDir, 'console', false);
  const writer = new SettingsWriter(files, dataDir);
  await switchPart(files, dataDir, 'console', true);
  await writer.write({ console: 'false' }, status);
  assert.equal(stateOf('console'), 'enabled from the next start');
});
