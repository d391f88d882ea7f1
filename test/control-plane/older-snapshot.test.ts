/**
 * A snapshot of an older version (7599bb83, of `up --simulate --nodes=2`) is verified, restored and run by this one. `npm run
 * test:upgrade` does the same with that version itself and with real pods.
 */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { freePort } from '../../src/platform/node/free-port-fixture.ts';
import { kubectlProgram } from '../../tools/kubectl.ts';
import { repositoryRoot } from '../../tools/repository.ts';
import { keelsonProgram, start, type Running } from '../integration/fixtures/programs.ts';
import { until } from '../integration/fixtures/until.ts';
import { keelson, run } from './own-servers.ts';

let folder: string;
let snapshot: string;
let running: Running | undefined;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keelson-older-'));
  snapshot = join(folder, 'snapshot.db');
  const packed = await readFile(join(repositoryRoot, 'test/upgrade/fixtures/snapshot-7599bb83.db.gz'));
  await writeFile(snapshot, gunzipSync(packed));
});
after(async () => {
  running?.kill();
  await running?.ended();
  await rm(folder, { recursive: true });
});

test('every object of an older snapshot is served as it was stored', async () => {
  const { code, stdout, stderr } = await keelson(['snapshot', 'verify', snapshot]);
  assert.match(stdout, /^✓ /, stderr);
  assert.equal(code, 0);
});

test('it is restored, and the cluster continues with its objects', async () => {
  const dataDir = join(folder, 'data');
  await mkdir(dataDir, { mode: 0o700 });
  const restored = await keelson(['snapshot', 'restore', snapshot, `--data-dir=${dataDir}`]);
  assert.equal(restored.code, 0, restored.stderr);
  const args = ['up', '--simulate', '--nodes=1', `--data-dir=${dataDir}`, `--https-port=${await freePort()}`];
  running = start(process.execPath, [keelsonProgram, ...args, '--log-level=error']);
  const kubectl = async (...words: string[]): Promise<string> => {
    const flags = [`--kubeconfig=${dataDir}/admin.kubeconfig`, `--cache-dir=${folder}/cache`, '-n', 'shop'];
    return (await run(kubectlProgram(), [...flags, ...words])).stdout;
  };
  await until(
    'its Deployment is available again',
    async () =>
      (await kubectl('get', 'deployment', 'web', '-o', 'jsonpath={.status.availableReplicas}')) === '2' && true,
  );
  assert.equal(await kubectl('get', 'configmap', 'settings', '-o', 'jsonpath={.data.mode}'), 'old');
  const secret = await kubectl('get', 'secret', 'password', '-o', 'jsonpath={.data.value}');
  assert.equal(Buffer.from(secret, 'base64').toString(), 'hunter2');
  assert.match(await kubectl('get', 'thing', 'one', '-o', 'json'), /"big": 9007199254740993/);
  assert.match(await kubectl('get', 'service', 'web', '-o', 'jsonpath={.spec.clusterIP}'), /^10\./);
});
