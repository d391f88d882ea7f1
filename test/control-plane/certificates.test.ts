/** `keelson certificate check|rotate` on a cluster that runs, stops and starts. */
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { after, before, describe, test } from 'node:test';
import { freePort } from '../../src/platform/node/free-port-fixture.ts';
import { kubectlProgram } from '../../tools/kubectl.ts';
import type { Running } from '../integration/fixtures/programs.ts';
import { keelson, run, type Said } from './own-servers.ts';
import { startSimulated } from './simulated-server.ts';

const LEAVES = ['admin', 'apiserver', 'apiserver-kubelet-client', 'front-proxy-client', 'kubelet'];

describe('certificates of a cluster', () => {
  let folder: string;
  let dataDir: string;
  let port: number;
  let running: Running | undefined;
  const certificate = (...args: string[]): Promise<Said> => keelson(['certificate', ...args, `--data-dir=${dataDir}`]);
  const up = async (): Promise<void> => {
    running = await startSimulated(dataDir, { port });
  };
  const down = async (): Promise<void> => {
    running?.kill();
    await running?.ended();
  };
  const serials = async (): Promise<Record<string, string>> => {
    const pairs = [...LEAVES, 'ca', 'front-proxy-ca'].map(async (name) => {
      const { serialNumber } = new X509Certificate(await readFile(join(dataDir, `pki/${name}.crt`)));
      return [name, serialNumber] as const;
    });
    return Object.fromEntries(await Promise.all(pairs));
  };
  const served = (): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
        resolve(socket.getPeerX509Certificate()?.serialNumber ?? '');
        socket.destroy();
      });
      socket.on('error', reject);
    });

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'keelson-certificates-'));
    dataDir = join(folder, 'data');
    port = await freePort();
    await up();
  });
  after(async () => {
    await down();
    await rm(folder, { recursive: true });
  });

  test('check lists every certificate and authority with its expiry', async () => {
    const { code, stdout } = await certificate('check');
    assert.equal(code, 0);
    assert.match(
      stdout,
      /^FILE +SUBJECT +TYPE +EXPIRES +RESIDUAL +STATUS\nca.crt +kubernetes +authority +20\S+Z +36\d\dd +OK\n/,
    );
    for (const name of LEAVES)
      assert.match(stdout, new RegExp(`^${name}.crt +\\S+ +certificate +20\\S+Z +36\\dd +OK$`, 'm'));
    const { items } = JSON.parse((await certificate('check', '-o', 'json')).stdout) as { items: { status: string }[] };
    assert.equal(items.length, LEAVES.length + 2);
    assert.ok(items.every(({ status }) => status === 'OK'));
  });

  test('rotate changes nothing that runs; the next start renews the named certificates, and the cluster continues', async () => {
    const before = await serials();
    const rotated = await certificate('rotate', '--service=api-server,admin');
    assert.match(rotated.stdout, /^the next start makes admin anew\n/m);
    assert.match(rotated.stdout, /keelson runs \(pid \d+\): restart it to take them; pods go on\n$/);
    assert.deepEqual(await serials(), before);
    const old = await readFile(join(dataDir, 'admin.kubeconfig'), 'utf8');
    assert.equal(await served(), before['apiserver']);
    await down();
    await up();
    const afterwards = await serials();
    const changed = Object.keys(before).filter((name) => before[name] !== afterwards[name]);
    assert.deepEqual(changed.toSorted(), ['admin', 'apiserver', 'apiserver-kubelet-client']);
    assert.equal(await served(), afterwards['apiserver']);
    await writeFile(join(folder, 'old.kubeconfig'), old);
    for (const file of [join(dataDir, 'admin.kubeconfig'), join(folder, 'old.kubeconfig')])
      assert.equal((await run(kubectlProgram(), [`--kubeconfig=${file}`, 'get', 'ns'])).code, 0, file);
  });

  test('rotate without names renews all leaf certificates, and keeps the authorities', async () => {
    await down();
    const before = await serials();
    assert.doesNotMatch((await certificate('rotate')).stdout, /runs/);
    assert.match((await certificate('rotate')).stdout, /^nothing to make anew/);
    await up();
    const afterwards = await serials();
    assert.deepEqual(
      Object.keys(before)
        .filter((name) => before[name] === afterwards[name])
        .toSorted(),
      ['ca', 'front-proxy-ca'],
    );
  });

  test('an expired or invalid certificate gives exit code 1; bad input gives one line', async () => {
    const path = join(dataDir, 'pki/front-proxy-client.crt');
    const text = await readFile(path);
    await writeFile(path, 'no certificate');
    const broken = await certificate('check');
    assert.match(broken.stdout, /^front-proxy-client.crt .*UNREADABLE \(/m);
    assert.equal(broken.code, 1);
    await writeFile(path, text);
    for (const [args, message] of [
      [['rotate', '--service=nothing'], /--service: nothing is none of admin, api-server, auth-proxy, etcd, kubelet/],
      [['rotate', `--data-dir=${folder}/none`], /there are no certificates in /],
      [['check', `--data-dir=${folder}/none`], /there are no certificates in /],
    ] as const) {
      const { code, stderr } = await keelson([
        'certificate',
        ...args,
        ...(args.length === 2 && args[1].startsWith('--s') ? [`--data-dir=${dataDir}`] : []),
      ]);
      assert.match(stderr, message);
      assert.deepEqual([code === 0, stderr.trim().split('\n').length], [false, 1]);
    }
  });
});
