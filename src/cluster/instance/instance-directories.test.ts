import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import type { Instance } from './instance.ts';
import { makeInstanceDirectories } from './instance-directories.ts';

const instance = {
  dataDir: '/data',
  logDir: '/data/logs',
  runDir: '/run/k',
  kubeletRoot: '/data/kubelet',
  podLogsRoot: '/data/pods',
} as Instance;

async function machine(...dirs: string[]) {
  const { files, log } = createSimPlatform();
  for (const dir of dirs) await files.makeDir(dir);
  const start = () => makeInstanceDirectories(files, instance, log);
  return { files, start };
}

test('static pods of a version without pod-manifests move there, once', async () => {
  const { files, start } = await machine('/data/kubelet', '/data/manifests');
  await files.writeFile('/data/manifests/web.yaml', 'kind: Pod');
  await start();
  assert.equal(await files.readText('/data/pod-manifests/web.yaml'), 'kind: Pod');
  assert.deepEqual(await files.readDir('/data/manifests'), []);
  await files.writeFile('/data/manifests/app.yaml', 'kind: Namespace');
  await start();
  assert.equal(await files.readText('/data/manifests/app.yaml'), 'kind: Namespace');
});

test('files for the API that are there before the first start stay', async () => {
  const { files, start } = await machine('/data/manifests');
  await files.writeFile('/data/manifests/app.yaml', 'kind: Namespace');
  await start();
  assert.equal(await files.readText('/data/manifests/app.yaml'), 'kind: Namespace');
});
