/** Encryption at rest with changes of keys and providers over restarts, by the steps of upstream's task page. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { encryptStore } from '../../src/cluster/store/encryption.ts';
import { createNodePlatform } from '../../src/platform/node/node-platform.ts';
import { createMemoryStore } from '../../src/storage/memory/memory-store.ts';
import { type ControlPlaneFixture, startControlPlane, surviving } from './control-plane-fixture.ts';

const key = (name: string, fill: number): object => ({ name, secret: Buffer.alloc(32, fill).toString('base64') });

test('secrets are rewritten with the first key, and read with any', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'keelson-encryption-'));
  const platform = createNodePlatform();
  const store = createMemoryStore({ clock: platform.clock });
  t.after(async () => {
    await store.close();
    platform.close();
    await rm(folder, { recursive: true });
  });
  const run = async (
    providers: readonly object[],
    use: (plane: ControlPlaneFixture) => Promise<void>,
  ): Promise<void> => {
    const config = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'EncryptionConfiguration' };
    const file = join(folder, 'encryption.yaml');
    await writeFile(file, JSON.stringify({ ...config, resources: [{ resources: ['secrets'], providers }] }));
    const open = () => encryptStore(platform, surviving(store), { file, reload: false });
    const plane = await startControlPlane({ components: false, pkiDir: join(folder, 'pki'), store: open });
    try {
      await use(plane);
    } finally {
      await plane.stop();
    }
  };
  const shown = async (plane: ControlPlaneFixture): Promise<string> => {
    const said = await plane.kubectl(['get', 'secret', 'x', '-o', 'jsonpath={.data.password}']);
    return said.stderr || Buffer.from(said.stdout, 'base64').toString();
  };
  const kept = async (): Promise<string> =>
    Buffer.from((await store.get('/registry/secrets/default/x'))!.value).toString('latin1');
  const cbc = { aescbc: { keys: [key('one', 1)] } };
  const gcm = { aesgcm: { keys: [key('two', 2)] } };
  const box = { secretbox: { keys: [key('three', 3)] } };
  const rewrite = async (plane: ControlPlaneFixture): Promise<void> => {
    const all = await plane.kubectl(['get', 'secrets', '--all-namespaces', '-o', 'json']);
    const replaced = await plane.kubectl(['replace', '-f', '-'], all.stdout);
    assert.equal(replaced.code, 0, replaced.stderr);
  };
  await run([{ identity: {} }], async (plane) => {
    const made = await plane.kubectl(['create', 'secret', 'generic', 'x', '--from-literal=password=hunter2']);
    assert.equal(made.code, 0, made.stderr);
    assert.ok(!(await kept()).startsWith('k8s:enc:'));
  });
  const steps: readonly [before: object[], prefix: string, after: object[]][] = [
    [[cbc, { identity: {} }], 'k8s:enc:aescbc:v1:one:', [cbc]],
    [[gcm, cbc], 'k8s:enc:aesgcm:v1:two:', [gcm]],
    [[box, gcm], 'k8s:enc:secretbox:v1:three:', [box]],
  ];
  for (const [before, prefix, after] of steps) {
    await run(before, async (plane) => {
      assert.equal(await shown(plane), 'hunter2');
      assert.ok(!(await kept()).startsWith(prefix), 'not written yet');
      await rewrite(plane);
      assert.ok((await kept()).startsWith(prefix));
      assert.ok(!(await kept()).includes(Buffer.from('hunter2').toString('base64')));
    });
    await run(after, async (plane) => assert.equal(await shown(plane), 'hunter2', 'without the key before'));
  }
});
