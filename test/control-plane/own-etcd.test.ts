/** Servers with their own etcd: started with one command, joined with one, killed, removed. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { ConfigMap } from '../../src/api/gen/core-v1.ts';
import { ConfigMaps, Services } from '../../src/api/gen/resources.ts';
import { isReason } from '../../src/api/status-error.ts';
import { freePort } from '../../src/platform/node/free-port-fixture.ts';
import { withoutEtcd } from '../../src/storage/etcd/etcd-fixture.ts';
import { keelson, ownServer, type OwnServer, type Said } from './own-servers.ts';
import { until } from '../integration/fixtures/until.ts';

const NAMESPACE = 'default';

/** Runs `work` while a server's list of members starts with one that accepts connections and never responds. */
async function withSilentMember({ dataDir }: OwnServer, work: () => Promise<void>): Promise<void> {
  const path = join(dataDir, 'etcd.json');
  const kept = await readFile(path, 'utf8');
  const file = JSON.parse(kept) as { readonly others: readonly string[] };
  const port = await freePort('127.0.0.1');
  const silent = createServer().listen(port, '127.0.0.1');
  try {
    await once(silent, 'listening');
    await writeFile(path, JSON.stringify({ ...file, others: [`https://127.0.0.1:${port}`, ...file.others] }));
    await work();
  } finally {
    silent.close();
    await writeFile(path, kept);
  }
}

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
    const limits = ['--enable-priority-and-fairness=false', '--max-requests-inflight=300'];
    await a.start(['--cluster-init', '--service-node-port-range=31000-31009', ...limits]);
  });
  after(() => Promise.all([a, b, c].map((server) => server?.remove())));

  // A single request to etcd may meet an election on a busy machine, so these are repeated until they succeed.
  const succeeds = (server: OwnServer, args: readonly string[]): Promise<Said> =>
    until(args.join(' '), async () => {
      const said = await server.keelson(args);
      assert.equal(said.code, 0, said.stderr);
      return said;
    });
  const serverToken = async (): Promise<string> => {
    const { stdout, stderr } = await succeeds(a, ['token', 'create', '--server']);
    assert.match(stdout, /^K10/, stderr);
    return stdout.trim();
  };
  const configMapsOf = async (server: OwnServer) => (await server.client()).resource(ConfigMaps);
  const read = async (server: OwnServer, name: string): Promise<ConfigMap> => {
    const configMaps = await configMapsOf(server);
    return until(`${name} is read`, () => configMaps.get({ name, namespace: NAMESPACE }));
  };
  /** Written by any attempt: one whose response was lost may have succeeded. */
  const written = async (server: OwnServer, name: string, data: Record<string, string> = {}): Promise<void> => {
    const configMaps = await configMapsOf(server);
    await until(`${name} is written`, () =>
      configMaps.create({ metadata: { name, namespace: NAMESPACE }, data }).then(
        () => true,
        (error: unknown) => {
          if (!isReason(error, 'AlreadyExists')) throw error;
          return true;
        },
      ),
    );
  };

  test('a token for agents does not grant the keys of the cluster', async () => {
    const agents = (await a.keelson(['token', 'create'])).stdout.trim();
    const asked = await keelson([
      ...['server', '--join', a.url, '--token', agents, '--data-dir', b.dataDir, '--node-name', 'b'],
      ...['--https-port', String(await freePort()), '--disable-agent'],
    ]);
    assert.equal(asked.code, 1);
    assert.match(asked.stderr, /the token is for agents; make one with keelson token create --server/);
    assert.equal(existsSync(join(b.dataDir, 'pki')), false);
  });

  test('a server with other settings than the cluster is refused and gets no keys', async () => {
    const joining = ['server', '--join', a.url, '--token', await serverToken(), '--data-dir', b.dataDir];
    const port = ['--https-port', String(await freePort())];
    const asked = await keelson([
      ...[...joining, ...port, '--node-name', 'b', '--disable-agent'],
      ...['--dns', 'none', '--metrics', 'none', '--cluster-domain', 'example.org'],
    ]);
    assert.equal(asked.code, 1);
    for (const flag of ['--dns keelson', '--metrics keelson', '--cluster-domain cluster.local'])
      assert.ok(asked.stderr.includes(flag), asked.stderr);
    assert.equal(existsSync(join(b.dataDir, 'pki')), false);
  });

  test('flags of the API server reach it', async () => {
    const client = await a.client();
    const { spec } = await client.resource(Services).create({
      metadata: { name: 'ports', namespace: NAMESPACE },
      spec: { type: 'NodePort', ports: [{ port: 80 }] },
    });
    const port = spec?.ports?.[0]?.nodePort ?? 0;
    assert.ok(port >= 31_000 && port <= 31_009, String(port));
    const { body } = await client.raw({ method: 'GET', path: '/metrics' });
    const metrics = Buffer.from(body).toString();
    assert.match(metrics, /apiserver_request_total/);
    assert.doesNotMatch(metrics, /apiserver_flowcontrol_/);
  });

  test('others join one after another, and each responds with what the other has acknowledged', async () => {
    const joining = ['--join', a.url, '--token', await serverToken()];
    await b.start(joining);
    await c.start(joining);
    await written(a, 'x', { from: 'a' });
    assert.equal((await read(b, 'x')).data?.['from'], 'a');
    const configMaps = await configMapsOf(b);
    await until('b changes what c has read', async () =>
      configMaps.update({ ...(await read(c, 'x')), data: { from: 'b' } }),
    );
    assert.equal((await read(a, 'x')).data?.['from'], 'b');
  });

  test('a server whose etcd dies uses the others’, and starts it again', async () => {
    const before = a.etcdPid()!;
    process.kill(before, 'SIGKILL');
    await written(a, 'without');
    await until('another etcd', async () => ![undefined, before].includes(a.etcdPid()));
  });

  test('a killed server leaves its etcd running and adopts it again', async () => {
    const pid = b.etcdPid();
    await b.kill();
    assert.equal(b.etcdPid(), pid);
    await b.start();
    assert.equal(b.etcdPid(), pid);
  });

  test('another server with the name of a member is refused', async () => {
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

  test('a server that is lost for good is removed, and another can have its name', async () => {
    await c.kill();
    process.kill(c.etcdPid()!, 'SIGKILL');
    assert.match((await a.keelson(['server', 'remove', 'nobody'])).stderr, /the cluster has no server nobody/);
    const removed = await a.keelson(['server', 'remove', 'c']);
    assert.equal(removed.code, 0, removed.stderr);
    const next = await ownServer('c', '127.0.1.5');
    try {
      await next.start(['--join', `${c.url},${a.url}`, '--token', await serverToken()]);
      assert.equal((await read(next, 'x')).data?.['from'], 'b');
      await succeeds(next, ['down', '--delete-data']);
      assert.equal(existsSync(next.dataDir), false);
    } finally {
      await next.remove();
    }
    // Of two remaining members both are needed, and both run.
    await written(b, 'two');
  });

  test(
    'a snapshot is saved and restored by the data directory alone, once no other server runs',
    { skip: existsSync('/usr/bin/etcdctl') ? false : 'etcdctl (Debian: etcd-client) is missing' },
    async () => {
      const file = join(a.dataDir, 'saved');
      const saved = await succeeds(a, ['snapshot', 'save', file]);
      assert.match(
        saved.stdout,
        /^saved \d{6,} bytes of etcd to .*; restore them with keelson snapshot restore$/m,
        saved.stderr,
      );
      await written(a, 'later');
      assert.match((await a.keelson(['snapshot', 'restore', file])).stderr, /another keelson runs/);
      await a.kill();
      await withSilentMember(a, async () => {
        assert.match((await a.keelson(['snapshot', 'restore', file])).stderr, /other servers of this cluster run/);
      });
      await succeeds(b, ['down']);
      await writeFile(join(a.dataDir, 'broken'), 'nothing');
      assert.match((await a.keelson(['snapshot', 'restore', join(a.dataDir, 'broken')])).stderr, /snapshot restore: /);
      const restored = await a.keelson(['snapshot', 'restore', file]);
      assert.match(restored.stdout, /kept as .*before-restore-1; other servers join it/, restored.stderr);
      assert.equal(a.etcdPid(), undefined);
      await a.start();
      assert.ok(await read(a, 'two'));
      await assert.rejects((await configMapsOf(a)).get({ name: 'later', namespace: NAMESPACE }), {
        reason: 'NotFound',
      });
      // The other server starts without data.
      await succeeds(b, ['down', '--delete-data']);
      await b.start(['--join', a.url, '--token', await serverToken()]);
      assert.ok(await read(b, 'two'));
    },
  );

  test('a cluster with another store can neither start nor join with etcd', async () => {
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
