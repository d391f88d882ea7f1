/** `keelson snapshot save|restore`: of a running cluster, a stopped one, a broken one, and etcd. */
import assert from 'node:assert/strict';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createNodePlatform } from '../../src/platform/node/node-platform.ts';
import { startEtcd, withoutEtcd } from '../../src/storage/etcd/etcd-fixture.ts';
import { createEtcdStore } from '../../src/storage/etcd/etcd-store.ts';
import { kubectlProgram } from '../../tools/kubectl.ts';
import { keelsonProgram, start, type Outcome, type Running } from '../integration/fixtures/programs.ts';
import { until } from '../integration/fixtures/until.ts';
import { freePort } from '../../src/platform/node/free-port-fixture.ts';
import { keelson, run, type Said } from './own-servers.ts';

describe('snapshots', () => {
  let folder: string;
  let dataDir: string;
  let running: Running | undefined;
  const kubectl = async (...args: string[]): Promise<Said> =>
    run(kubectlProgram(), [`--kubeconfig=${dataDir}/admin.kubeconfig`, `--cache-dir=${folder}/cache`, ...args]);

  async function up(): Promise<void> {
    const port = await freePort();
    const args = [
      'up',
      '--simulate',
      '--nodes=0',
      `--data-dir=${dataDir}`,
      `--https-port=${port}`,
      '--log-level=error',
    ];
    const server = (running = start(process.execPath, [keelsonProgram, ...args]));
    let ended: Outcome | undefined;
    server.ended().then(
      (outcome) => (ended = outcome),
      () => undefined, // it runs for longer
    );
    await until('it runs, or has ended', async () => {
      if (ended !== undefined) return true;
      const { code, stdout } = await keelson(['status', `--data-dir=${dataDir}`, '--output=json']);
      return code === 0 && (JSON.parse(stdout) as { phase: string }).phase === 'running';
    }).catch((error: Error) => assert.fail(`${error.message}\n${server.stderr()}`));
    assert.equal(ended, undefined, `it ended: ${JSON.stringify(ended)}`);
  }
  async function down(): Promise<void> {
    running?.kill();
    await running?.ended();
    running = undefined;
  }
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'keelson-snapshot-'));
    dataDir = join(folder, 'data');
    await up();
  });
  after(async () => {
    await down();
    await rm(folder, { recursive: true });
  });

  test('a running cluster is saved, and restored when it is stopped; all later changes are gone', async () => {
    const file = join(folder, 'one.snapshot');
    assert.equal((await kubectl('create', 'configmap', 'early', '--from-literal=a=1')).code, 0);
    const saved = await keelson(['snapshot', 'save', file, `--data-dir=${dataDir}`]);
    assert.match(saved.stdout, /^saved \d+ objects at revision \d+ to /, saved.stderr);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.equal((await kubectl('create', 'configmap', 'late')).code, 0);
    assert.equal((await kubectl('delete', 'configmap', 'early')).code, 0);
    const late = (await kubectl('get', 'configmap', 'late', '-o', 'jsonpath={.metadata.resourceVersion}')).stdout;
    const refused = await keelson(['snapshot', 'restore', file, `--data-dir=${dataDir}`]);
    assert.match(refused.stderr, /^keelson: another keelson runs on /);
    await down();
    const restored = await keelson(['snapshot', 'restore', file, `--data-dir=${dataDir}`]);
    assert.match(
      restored.stdout,
      /^restored \d+ objects as of revision \d+; what was there is kept as state.db.before-restore-1/,
    );
    await up();
    assert.equal((await kubectl('get', 'configmap', 'early', '-o', 'jsonpath={.data.a}')).stdout, '1');
    assert.match((await kubectl('get', 'configmap', 'late')).stderr, /not found/);
    const now = (await kubectl('create', 'configmap', 'after', '-o', 'jsonpath={.metadata.resourceVersion}')).stdout;
    assert.ok(Number(now) > Number(late) + 100_000, 'revisions given out after the snapshot do not come again');
    const watch = await kubectl('get', '--raw', `/api/v1/configmaps?watch=1&timeoutSeconds=1&resourceVersion=${late}`);
    assert.match(watch.stdout, /"code":410/);
    const left = (await readdir(dataDir)).filter((name) => /snapshot|restoring|partial/.test(name));
    assert.deepEqual(left, []);
  });

  test('a stopped cluster is saved too, and a file that is no snapshot is refused without a change', async () => {
    await down();
    const file = join(folder, 'two.snapshot');
    const saved = await keelson(['snapshot', 'save', file, `--data-dir=${dataDir}`]);
    assert.match(saved.stdout, /^saved \d+ objects/, saved.stderr);
    const before = await stat(join(dataDir, 'state.db'));
    const bad = async (name: string, make: (path: string) => Promise<void>): Promise<string> => {
      const path = join(folder, name);
      await make(path);
      return path;
    };
    const etcdHead = Buffer.alloc(4096);
    etcdHead.writeUInt32LE(0xed0cdaed, 16);
    const cases: [string, RegExp][] = [
      [join(folder, 'none'), /no such file or directory/],
      [await bad('text', (path) => writeFile(path, 'no database at all, '.repeat(500))), /not a database/],
      [await bad('etcd', (path) => writeFile(path, etcdHead)), /snapshot of etcd.*etcdutl snapshot restore/],
      [
        await bad('short', async (path) => {
          await writeFile(path, await import('node:fs/promises').then(({ readFile }) => readFile(file)));
          await truncate(path, Math.floor((await stat(path)).size / 2 / 8192) * 8192);
        }),
        /malformed|damaged/,
      ],
    ];
    for (const [path, message] of cases) {
      const { code, stderr } = await keelson(['snapshot', 'restore', path, `--data-dir=${dataDir}`]);
      assert.match(stderr, message);
      assert.deepEqual([code, stderr.trim().split('\n').length], [1, 1], stderr);
    }
    assert.equal((await stat(join(dataDir, 'state.db'))).ino, before.ino);
    const nowhere = await keelson(['snapshot', 'save', file, `--data-dir=${folder}/nowhere`]);
    assert.match(nowhere.stderr, /there is no cluster in .*nowhere/);
    const unwritable = await keelson(['snapshot', 'save', '/proc/none/x', `--data-dir=${dataDir}`]);
    assert.match(unwritable.stderr, /^keelson: .*ENOENT/);
  });

  test('with the keys of docs/backup.md it creates the same cluster on an empty machine', async () => {
    const file = join(folder, 'three.snapshot');
    await up();
    assert.equal((await kubectl('create', 'configmap', 'kept')).code, 0);
    const token = (await kubectl('create', 'token', 'default')).stdout.trim();
    assert.equal((await keelson(['snapshot', 'save', file, `--data-dir=${dataDir}`])).code, 0);
    await down();
    const [lost, first] = [join(folder, 'lost'), dataDir];
    await rename(first, lost);
    await mkdir(join(first, 'pki'), { recursive: true, mode: 0o700 });
    for (const key of ['ca.crt', 'ca.key', 'sa.key', 'sa.pub'])
      await copyFile(join(lost, 'pki', key), join(first, 'pki', key));
    const restored = await keelson(['snapshot', 'restore', file, `--data-dir=${dataDir}`]);
    assert.match(restored.stdout, /^restored \d+ objects as of revision \d+$/m, restored.stderr);
    await up();
    assert.equal((await kubectl('get', 'configmap', 'kept')).code, 0);
    // Signatures of the lost cluster stay valid: certificates of its administrator, tokens of its service accounts.
    const admin = (await readFile(join(lost, 'admin.kubeconfig'), 'utf8')).replace(
      /server: .*/,
      /server: .*/.exec(await readFile(join(dataDir, 'admin.kubeconfig'), 'utf8'))![0],
    );
    await writeFile(join(folder, 'old.kubeconfig'), admin);
    const asOld = await run(kubectlProgram(), [
      `--kubeconfig=${folder}/old.kubeconfig`,
      'auth',
      'whoami',
      '-o',
      'name',
    ]);
    assert.equal(asOld.code, 0, asOld.stderr);
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } };
    await writeFile(join(folder, 'review.json'), JSON.stringify(review));
    const reviewed = await kubectl('create', '-f', `${folder}/review.json`, '-o', 'json');
    assert.match(reviewed.stdout, /"username": "system:serviceaccount:default:default"/, reviewed.stderr + token);
    await down();
  });

  test('etcd is saved as by etcdctl, and restored by its own tool', { skip: withoutEtcd }, async (t) => {
    const etcd = await startEtcd();
    t.after(() => etcd.stop());
    const platform = createNodePlatform();
    t.after(() => platform.close());
    const store = await createEtcdStore({ endpoints: [etcd.url], platform });
    for (let at = 0; at < 50; at++) await store.put({ key: `/registry/k${at}`, value: Buffer.alloc(20_000, at) });
    await store.close();
    const file = join(folder, 'etcd.snapshot');
    const saved = await keelson(['snapshot', 'save', file, `--store=etcd=${etcd.url}`]);
    assert.match(saved.stdout, /^saved \d{7,} bytes of etcd to /, saved.stderr);
    const status = await run('env', ['ETCDCTL_API=3', 'etcdctl', 'snapshot', 'status', file, '--write-out=json']);
    // etcdctl checks the digest at the end of the file. Its package is optional.
    if (status.code !== 127)
      assert.equal((JSON.parse(status.stdout) as { revision: number }).revision, 51, status.stderr);
    const refused = await keelson(['snapshot', 'restore', file, `--store=etcd=${etcd.url}`]);
    assert.match(refused.stderr, /etcdutl snapshot restore/);
    await etcd.kill('SIGKILL');
    const gone = await keelson(['snapshot', 'save', join(folder, 'gone'), `--store=etcd=${etcd.url}`]);
    assert.match(gone.stderr, /^keelson: etcd: asking for the status: connect ECONNREFUSED/);
    assert.ok(!(await readdir(folder)).some((name) => name.startsWith('gone')));
  });
});
