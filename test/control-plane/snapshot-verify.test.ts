/** `keelson snapshot verify` for snapshots of a real control plane, complete, damaged, encrypted, and for other files. */
import assert from 'node:assert/strict';
import { copyFile, mkdtemp, open, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { encryptStore } from '../../src/cluster/store/encryption.ts';
import type { NodePlatform } from '../../src/platform/node/node-platform.ts';
import { createSqliteStore } from '../../src/storage/sqlite/sqlite-store.ts';
import type { Store } from '../../src/storage/store.ts';
import { startControlPlane } from './control-plane-fixture.ts';
import { keelson, type Said } from './own-servers.ts';

const CRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: things, kind: Thing, singular: thing}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`;

describe('snapshot verify', () => {
  let folder: string;
  let whole: string;
  let encrypted: string;
  let config: string;
  const verify = (file: string, ...flags: string[]): Promise<Said> => keelson(['snapshot', 'verify', file, ...flags]);

  async function snapshotOf(name: string, wrap?: (platform: NodePlatform, store: Store) => Promise<Store>) {
    let plain: Store | undefined;
    const fixture = await startControlPlane({
      async store(platform) {
        plain = await createSqliteStore({ path: join(folder, `${name}.state`), platform });
        return wrap === undefined ? plain : wrap(platform, plain);
      },
    });
    try {
      const { kubectl } = fixture;
      assert.equal((await kubectl(['create', 'secret', 'generic', 's', '--from-literal=a=b'])).code, 0);
      assert.equal((await kubectl(['create', 'deployment', 'web', '--image=x', '--replicas=2'])).code, 0);
      assert.equal((await kubectl(['autoscale', 'deployment', 'web', '--min=1', '--max=3'])).code, 0);
      assert.equal((await kubectl(['create', 'service', 'clusterip', 'web', '--tcp=80'])).code, 0);
      assert.equal((await kubectl(['apply', '-f', '-'], CRD)).code, 0);
      assert.equal((await kubectl(['wait', '--for=condition=Established', 'crd/things.example.com'])).code, 0);
      const thing = '{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"one"},"big":9007199254740993}';
      const made = await kubectl(['apply', '-f', '-'], thing);
      assert.equal(made.code, 0, made.stderr);
      await plain!.backup!(join(folder, name));
    } finally {
      await fixture.stop();
    }
    return join(folder, name);
  }

  /** A copy of the complete snapshot with changed rows. */
  async function changed(name: string, sql: string, ...values: (string | Buffer)[]): Promise<string> {
    const path = join(folder, name);
    await copyFile(whole, path);
    const database = new DatabaseSync(path);
    const { changes } = database.prepare(sql).run(...values);
    database.close();
    assert.notEqual(changes, 0, 'the statement changes something');
    return path;
  }

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'keelson-verify-test-'));
    config = join(folder, 'encryption.json');
    const keys = [{ name: 'k', secret: Buffer.alloc(32, 1).toString('base64') }];
    const resources = [{ resources: ['secrets'], providers: [{ aescbc: { keys } }] }];
    const head = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'EncryptionConfiguration' };
    await writeFile(config, JSON.stringify({ ...head, resources }));
    whole = await snapshotOf('whole');
    encrypted = await snapshotOf('encrypted', (platform, store) =>
      encryptStore(platform, store, { file: config, reload: false }),
    );
  });
  after(() => rm(folder, { recursive: true }));

  test('a complete snapshot serves its content; the file is unchanged, and nothing is left behind', async () => {
    const before = await readFile(whole);
    const { code, stdout, stderr } = await verify(whole);
    assert.match(
      stdout,
      /^✓ .*whole is whole and can be restored: \d+ objects at revision \d+ \(\d{3,} equal, /,
      stderr,
    );
    assert.equal(code, 0);
    assert.ok((await readFile(whole)).equals(before));
    assert.deepEqual(
      (await readdir(folder)).filter((name) => name.startsWith('whole-')),
      [],
    );
    const found = JSON.parse((await verify(whole, '-o', 'json')).stdout) as Record<string, number>;
    assert.equal(found['keyCount'], found['equal']! + found['renewed']! + found['internal']!);
    assert.ok(found['renewed']! < found['equal']!, 'most objects are compared by their content');
  });

  test('an encrypted one needs its keys', async () => {
    const without = await verify(encrypted);
    assert.match(without.stderr, /^keelson: .*: [1-9]\d* values are encrypted; give --encryption-provider-config\n$/);
    assert.equal(without.code, 1);
    const withKeys = await verify(encrypted, `--encryption-provider-config=${config}`);
    assert.match(withKeys.stdout, /^✓ /, withKeys.stderr);
    const other = join(folder, 'other.json');
    const text = await readFile(config, 'utf8');
    await writeFile(other, text.replace(/"secret":"[^"]*"/, `"secret":"${Buffer.alloc(32, 2).toString('base64')}"`));
    const wrong = await verify(encrypted, `--encryption-provider-config=${other}`);
    assert.match(wrong.stderr, /^keelson: .*cannot decrypt \/registry\/secrets\/.*\n$/);
  });

  test('each object that is not served as it is stored is named', async () => {
    const orphan = await changed(
      'orphan',
      `DELETE FROM change WHERE key = ?`,
      '/registry/apiextensions.k8s.io/customresourcedefinitions/things.example.com',
    );
    const found = await verify(orphan);
    assert.match(
      found.stdout,
      /^✖ 1 objects of example.com\/v1 Thing are not served: .*\n✖ .* starts, but 2 of its/m,
      found.stderr,
    );
    assert.equal(found.code, 1);
    const moved = await changed(
      'moved',
      `UPDATE change SET key = ? WHERE key = ?`,
      '/registry/secrets/default/other',
      '/registry/secrets/default/s',
    );
    assert.match((await verify(moved)).stdout, /✖ \/registry\/secrets\/default\/other holds an object of another name/);
  });

  test('a damaged file, or one that is no snapshot, gives one line', async () => {
    const make = async (name: string, work: (path: string) => Promise<void>): Promise<string> => {
      const path = join(folder, name);
      await copyFile(whole, path);
      await work(path);
      return path;
    };
    const overwrite = (path: string, at: number, bytes: Buffer): Promise<void> =>
      open(path, 'r+').then(async (handle) => {
        await handle.write(bytes, 0, bytes.length, at);
        await handle.close();
      });
    const size = (await readFile(whole)).length;
    const etcdHead = Buffer.alloc(4096);
    etcdHead.writeUInt32LE(0xed0cdaed, 16);
    const cases: [string, RegExp][] = [
      [join(folder, 'absent'), /no such file/],
      [folder, /EISDIR|directory/],
      [await make('empty', (path) => truncate(path, 0)), /holds no objects|no snapshot|not a database/],
      [await make('text', (path) => writeFile(path, 'no database at all, '.repeat(500))), /not a database/],
      [await make('half', (path) => truncate(path, Math.floor(size / 2 / 8192) * 8192)), /malformed|damaged/],
      [
        await make('pages', (path) => overwrite(path, Math.floor(size / 2 / 8192) * 8192, Buffer.alloc(16_384, 0xff))),
        /malformed|damaged|lacks/,
      ],
      [await make('etcd', (path) => writeFile(path, etcdHead)), /snapshot of etcd: etcdutl snapshot status checks it/],
      [
        await changed(
          'nonsense',
          `UPDATE change SET value = ? WHERE key = '/registry/secrets/default/s'`,
          Buffer.from('{"kind'),
        ),
        /nonsense/,
      ],
    ];
    for (const [path, message] of cases) {
      const { code, stdout, stderr } = await verify(path);
      assert.match(`${stdout}${stderr}`, message, path);
      assert.equal(code, 1, path);
      assert.ok(stderr.trim().split('\n').length === 1, `${path}: ${stderr}`);
    }
  });
});
