import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createNodePlatform } from '../platform/node/node-platform.ts';
import { listParts, switchPart } from './addon-parts.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'keelson-test-parts-'));
const settingsFile = join(dataDir, 'settings.json');
const platform = createNodePlatform({ startSpawner: false, log: { level: 'error' } });
const stateOf = (name: string): string | undefined => listParts(dataDir).find((part) => part.name === name)?.state;
const change = (name: Parameters<typeof switchPart>[2], enabled: boolean): Promise<boolean> =>
  switchPart(platform.files, dataDir, name, enabled);

after(() => {
  platform.close();
  rmSync(dataDir, { recursive: true, force: true });
});

test('every part but the gateway runs by default', () => {
  assert.deepEqual(
    listParts(dataDir).map(({ name, state }) => `${name} ${state}`),
    [
      'console enabled',
      'dns enabled',
      'gateway disabled',
      'load-balancer enabled',
      'local-path enabled',
      'metrics enabled',
    ],
  );
});

test('a component is enabled or disabled for the next start, which reads the flag from the settings', async () => {
  assert.equal(await change('metrics', false), true);
  assert.equal(await change('metrics', false), false, 'it is disabled already');
  assert.equal(await change('console', false), true);
  assert.equal(stateOf('metrics'), 'disabled from the next start');
  const { metrics, console } = JSON.parse(readFileSync(settingsFile, 'utf8')) as Record<string, unknown>;
  assert.deepEqual([metrics, console], ['none', 'false']);
});

test('a part that is changed back is as it runs', async () => {
  await change('metrics', true);
  assert.equal(stateOf('metrics'), 'enabled');
});

test('a port of the gateway enables it', async () => {
  writeFileSync(settingsFile, JSON.stringify({ 'gateway-http-port': '8080' }));
  assert.equal(stateOf('gateway'), 'enabled');
  await change('gateway', false);
  assert.equal(stateOf('gateway'), 'disabled from the next start');
});
