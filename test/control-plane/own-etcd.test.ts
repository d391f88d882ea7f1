/** Servers with an etcd of their own: begun with one command, joined with one, killed, removed. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ConfigMaps } from '../../src/api/gen/resources.ts';
import { isReason } from '../../src/api/status-error.ts';
import { freePort } from '../../src/platform/node/free-port-fixture.ts';
import { withoutEtcd } from '../../src/storage/etcd/etcd-fixture.ts';
import { keelson, ownServer, type OwnServer } from './own-servers.ts';
import { until } from '../integration/fixtures/until.ts';

const namespace = 'default';

describe('servers with an etcd of their own', { skip: withoutEtcd }, () => {
  let a: OwnServer;
  let b: OwnServer;
  let c: OwnServer;
  before(async () => {
    [a, b, c] = await Promise.all([
      ownServer('a', '127.0.1.1'),
      ownServer('b', '127.0.1.2'),
      ownServer('c', '127.0.1.3'),
    ]);
    await a.start(['--cluster-init']);
  });
  after(() => Promise.all([a, b, c].map((server) => server?.remove())));

  const serverToken = async (): Promise<string> => {
    const { stdout, stderr } = await a.keelson(['token', 'create', '--server']);
    assert.match(stdout, /^K10/, stderr);
    return stdout.trim();
  };

  /** By one of the tries: one whose answer was lost on the way may have made it. */
  const written = async (server: OwnServer, name: string): Promise<void> => {
    const configMaps = (await server.client()).resource(ConfigMaps);
    await until(`${name} is written`, () =>
      configMaps.create({ metadata: { name, namespace } }).then(
        () => true,
        (error: unknown) => {
          if (!isReason(error, 'AlreadyExists')) throw error;
          return true;
        },
      ),
    );
  };

  test('a token for agents does not give the keys of the cluster', async () => {
    const agents = (await a.keelson(['token', 'create'])).stdout.trim();
    const asked = await keelson([
      ...['server', '--join', a.url, '--token', agents, '--data-dir', b.dataDir, '--node-name', 'b'],
      ...['--https-port', String(await freePort()), '--disable-agent'],
    ]);
    assert.equal(asked.code, 1);
    assert.match(asked.stderr, /the token is for agents; make one with keelson token create --server/);
    assert.equal(existsSync(join(b.dataDir, 'pki')), false);
  });

  test('others join one after another, and each answers with what the other has acknowledged', async () => {
    const joining = ['--join', a.url, '--token', await serverToken()];
    await b.start(joining);
    await c.start(joining);
    const [at, bt, ct] = await Promise.all([a, b, c].map(async (s) => (await s.client()).resource(ConfigMaps)));
    await at!.create({ metadata: { name: 'x', namespace }, data: { from: 'a' } });
    assert.equal((await bt!.get({ name: 'x', namespace })).data?.['from'], 'a');
    await bt!.update({ ...(await ct!.get({ name: 'x', namespace })), data: { from: 'b' } });
    assert.equal((await at!.get({ name: 'x', namespace })).data?.['from'], 'b');
  });

  test('a server whose etcd dies goes on with the others’, and starts it again', async () => {
    const before = a.etcdPid()!;
    process.kill(before, 'SIGKILL');
    await written(a, 'without');
    await until('another etcd', async () => ![undefined, before].includes(a.etcdPid()));
  });

  test('killed, a server leaves its etcd running and takes it over again', async () => {
    const pid = b.etcdPid();
    await b.kill();
    assert.equal(b.etcdPid(), pid);
    await b.start();
    assert.equal(b.etcdPid(), pid);
  });

  test('another with the name of a member is refused', async () => {
    const twin = await ownServer('c', '127.0.1.4');
    try {
      const outcome = await twin
        .start(['--join', a.url, '--token', await serverToken()])
        .catch((error: Error) => error);
      assert.match(String(outcome), /the cluster has a server c at .* keelson server remove c/);
    } finally {
      await twin.remove();
    }
  });

  test('a server that is gone for good is removed, and then another has its name', async () => {
    await c.kill();
    process.kill(c.etcdPid()!, 'SIGKILL');
    assert.match((await a.keelson(['server', 'remove', 'nobody'])).stderr, /the cluster has no server nobody/);
    const removed = await a.keelson(['server', 'remove', 'c']);
    assert.equal(removed.code, 0, removed.stderr);
    const next = await ownServer('c', '127.0.1.5');
    try {
      await next.start(['--join', `${c.url},${a.url}`, '--token', await serverToken()]);
      const configMaps = (await next.client()).resource(ConfigMaps);
      assert.equal((await configMaps.get({ name: 'x', namespace })).data?.['from'], 'b');
      const left = await next.keelson(['down', '--delete-data']);
      assert.equal(left.code, 0, left.stderr);
      assert.equal(existsSync(next.dataDir), false);
    } finally {
      await next.remove();
    }
    // With two members left of two, not of three, both are needed and both are there.
    await written(b, 'two');
  });

  test(
    'a snapshot is saved and restored by the data directory alone, once no other server runs',
    { skip: existsSync('/usr/bin/etcdctl') ? false : 'etcdctl (Debian: etcd-client) is missing' },
    async () => {
      const configMaps = async (server: OwnServer) => (await server.client()).resource(ConfigMaps);
      const file = join(a.dataDir, 'saved');
      const saved = await a.keelson(['snapshot', 'save', file]);
      assert.match(
        saved.stdout,
        /^saved \d{6,} bytes of etcd to .*; restore them with keelson snapshot restore$/m,
        saved.stderr,
      );
      await (await configMaps(a)).create({ metadata: { name: 'later', namespace } });
      assert.match((await a.keelson(['snapshot', 'restore', file])).stderr, /another keelson runs/);
      await a.kill();
      assert.match((await a.keelson(['snapshot', 'restore', file])).stderr, /other servers of this cluster run/);
      assert.equal((await b.keelson(['down'])).code, 0);
      await writeFile(join(a.dataDir, 'broken'), 'nothing');
      assert.match((await a.keelson(['snapshot', 'restore', join(a.dataDir, 'broken')])).stderr, /snapshot restore: /);
      const restored = await a.keelson(['snapshot', 'restore', file]);
      assert.match(restored.stdout, /kept as .*before-restore-1; other servers join it/, restored.stderr);
      assert.equal(a.etcdPid(), undefined);
      await a.start();
      assert.ok(await (await configMaps(a)).get({ name: 'two', namespace }));
      await assert.rejects((await configMaps(a)).get({ name: 'later', namespace }), { reason: 'NotFound' });
      // The other begins with nothing.
      assert.equal((await b.keelson(['down', '--delete-data'])).code, 0);
      await b.start(['--join', a.url, '--token', await serverToken()]);
      assert.ok(await (await configMaps(b)).get({ name: 'two', namespace }));
    },
  );

  test('a cluster with another store is none to begin or to join with', async () => {
    await rm(c.dataDir, { recursive: true });
    const only = await keelson(['server', '--join', a.url, '--data-dir', c.dataDir]);
    assert.match(only.stderr, /--join: --token or --token-file is needed/);
    const both = await keelson(['server', '--cluster-init', '--store', 'memory', '--data-dir', c.dataDir]);
    assert.match(both.stderr, /bring a store of their own/);
    const file = { format: 1, nodeName: 'c', clusterCidr: '10.1.0.0/16', serviceCidr: '10.2.0.0/16' };
    const { mkdir } = await import('node:fs/promises');
    await mkdir(c.dataDir);
    await writeFile(join(c.dataDir, 'instance.json'), JSON.stringify({ ...file, clusterDomain: 'cluster.local' }));
    const kept = await keelson(['server', '--cluster-init', '--disable-agent', '--data-dir', c.dataDir]);
    assert.match(kept.stderr, /keeps its state elsewhere; --cluster-init and --join are for a new --data-dir/);
  });
});
