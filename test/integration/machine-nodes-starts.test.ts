/** Starts of a cluster whose further nodes are interrupted, broken, of another version, or in conflict with another cluster. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { freePlace, hashOf, images, keelson, startCluster, upArgs, type TestCluster } from './cluster-fixture.ts';
import { leftovers } from './fixtures/leftovers.ts';
import { must } from './fixtures/programs.ts';
import { testImage } from '../../tools/test-image.ts';

interface ListedNode {
  readonly name: string;
  readonly state: string;
  readonly address: string;
  readonly dataDir: string;
  readonly problem?: string;
}

describe('a start of a cluster with a further node', () => {
  let cluster: TestCluster;
  let second: ListedNode;
  before(async () => {
    cluster = await startCluster({ flags: ['--nodes', '2', '--node-name', 'home'], images: false });
    second = await node();
  });
  after(async () => {
    await cluster?.stop();
    const { dataDir } = second;
    assert.deepEqual(await leftovers({ ...cluster, hash: hashOf(dataDir), dataDir }), []);
  });

  const command = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await keelson([...args, '--data-dir', cluster.dataDir]);
    assert.equal(code, 0, stdout + stderr);
    return stdout.trim();
  };
  const node = async (): Promise<ListedNode> =>
    (JSON.parse(await command('node', 'ls', '--output', 'json')) as [ListedNode])[0];
  const isReady = async (): Promise<boolean> =>
    /^home-2 +Ready\b/m.test(await cluster.kubectl('get nodes --no-headers'));
  /** The pid of the node's agent, once it answers. */
  const pidOf = (): Promise<number> =>
    cluster.until('the agent', async () => {
      const { code, stdout } = await keelson(['status', '--output', 'json', '--data-dir', second.dataDir]);
      return code === 0 && (JSON.parse(stdout) as { pid: number }).pid;
    });
  /** Kills the server and its supervisor. */
  const killServer = async (): Promise<void> => {
    const pid = await cluster.pid();
    const parent = Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
    for (const each of [parent, pid]) process.kill(each, 'SIGKILL');
    await cluster.until('its end', async () => !existsSync(`/proc/${pid}`));
  };

  it('of another version restarts its agent, and its pods run on', async () => {
    const archive = join(cluster.dataDir, 'test.tar');
    writeFileSync(archive, testImage().archive);
    await command('image', 'load', archive);
    await cluster.apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'web' },
      spec: { nodeName: 'home-2', containers: [{ name: 'web', image: images.test }] },
    });
    await cluster.kubectl('wait pod/web --for=condition=Ready --timeout=120s');
    const container = () => cluster.kubectl('get pod web -o jsonpath={.status.containerStatuses[0].containerID}');
    const [agent, running] = [await pidOf(), await container()];
    await killServer();
    // The record that an earlier version writes for the same command line.
    writeFileSync(`/run/keelson/${cluster.hash}/nodes/home-2/agent`, 'of another version');
    await cluster.up();
    assert.notEqual(await pidOf(), agent);
    assert.equal(await container(), running);
    await cluster.until('its kubelet', async () => (await cluster.outcome('exec web -- hostname')).stdout === 'web\n');
  });

  it('whose node is disconnected for long does not wait for it; the node is repaired with and without a server', async () => {
    assert.equal(await command('node', 'partition', 'home-2'), 'home-2 is cut off from all others');
    await cluster.until('NotReady', async () => !(await isReady()), 120_000);
    await killServer();
    assert.equal((await node()).state, 'partitioned');
    await cluster.up();
    assert.equal((await node()).state, 'partitioned');
    assert.match(await command('status'), /on machine +home-2 partitioned/);
    assert.match(await command('doctor'), /! nodes +home-2 is partitioned → keelson node heal home-2/);
    assert.equal(await isReady(), false);
    await killServer();
    assert.equal(await command('node', 'heal', 'home-2'), 'home-2 is connected again');
    assert.equal((await node()).state, 'running');
    await cluster.up();
    await cluster.until('Ready', isReady, 120_000);
    await command('down');
    assert.equal(
      await command('node', 'partition', 'home-2'),
      'home-2 does not run; it will be cut off when it starts',
    );
    await cluster.up();
    await cluster.until('partitioned', async () => (await node()).state === 'partitioned');
    assert.equal(await command('node', 'heal', 'home-2'), 'home-2 is connected again');
    await cluster.until('Ready', isReady, 120_000);
  });

  it('whose node cannot be created starts without it, reports the reason, and creates it later', async () => {
    await command('down');
    const kept = `${second.dataDir}.kept`;
    await must('mv', [second.dataDir, kept]);
    writeFileSync(second.dataDir, '');
    await cluster.up();
    assert.match((await node()).problem ?? '', /EEXIST|ENOTDIR/);
    assert.match(await command('status'), /trouble +the node home-2 cannot be started: /);
    rmSync(second.dataDir);
    await must('mv', [kept, second.dataDir]);
    await cluster.until('running', async () => (await node()).state === 'running', 120_000);
    await cluster.until('Ready', isReady, 120_000);
  });

  it('uses another network than a stopped cluster, and moves when another program uses its own', async () => {
    await command('down');
    const place = await freePlace();
    const both = ['--data-dir', place.dataDir];
    try {
      const up = await keelson([
        ...upArgs(place),
        '--nodes',
        '2',
        '--node-name',
        'other',
        '--detach',
        '--write-kubeconfig=',
      ]);
      assert.equal(up.code, 0, up.stderr);
      const [other] = JSON.parse((await keelson(['node', 'ls', '-o', 'json', ...both])).stdout) as [ListedNode];
      assert.notEqual(other.address, second.address);
      // A cluster whose record cannot be read: the conflict is found when it starts.
      const record = JSON.parse(readFileSync(`${cluster.dataDir}/nodes.json`, 'utf8')) as object;
      const network = `${other.address.split('.').slice(0, 3).join('.')}.0/24`;
      writeFileSync(`${cluster.dataDir}/nodes.json`, JSON.stringify({ ...record, network }));
      await cluster.up();
      await cluster.until('running', async () => (await node()).state === 'running');
      assert.notEqual((await node()).address, other.address);
      await cluster.until('its kubelet', async () => {
        const { stdout } = await cluster.outcome('get --raw /api/v1/nodes/home-2/proxy/healthz');
        return stdout === 'ok';
      });
      await cluster.kubectl('wait pod/web --for=condition=Ready --timeout=120s');
      assert.match(await cluster.kubectl('exec web -- hostname'), /^web/);
    } finally {
      await keelson(['down', '--delete-data', ...both]);
    }
  });

  it('with one node removes the others and their objects, also when the start before was killed', async () => {
    await command('down');
    // The record of a start with fewer nodes that ended before the API answered.
    const record = JSON.parse(readFileSync(`${cluster.dataDir}/nodes.json`, 'utf8')) as { nodes: unknown[] };
    writeFileSync(`${cluster.dataDir}/nodes.json`, JSON.stringify({ ...record, nodes: [], removed: record.nodes }));
    await command('up', '--nodes', '1', '--detach');
    assert.equal(await cluster.kubectl('get nodes -o name'), 'node/home\n');
    assert.equal(existsSync(second.dataDir), false);
    assert.equal(existsSync(`${cluster.dataDir}/nodes.json`), false);
    assert.equal((await must('ip', ['-br', 'link'])).includes(`kn${cluster.hash}`), false);
    assert.equal((await must('nft', ['list', 'tables'])).includes(`keelson-${cluster.hash}-nodes`), false);
    const { code, stderr } = await keelson(['node', 'ls', '--data-dir', cluster.dataDir]);
    assert.deepEqual([code, /has no further nodes/.test(stderr)], [1, true]);
  });
});
