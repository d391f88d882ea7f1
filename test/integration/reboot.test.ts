/** A cluster of two nodes on a machine that loses its power and starts again. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { testImage } from '../../tools/test-image.ts';
import { hashOf, images, keelson, startCluster, type TestCluster } from './cluster-fixture.ts';
import { leftovers } from './fixtures/leftovers.ts';
import { losePower } from './fixtures/power-loss.ts';
import { must, run } from './fixtures/programs.ts';

const labels = { app: 'web' };
const claim = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name: 'data' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Mi' } } },
};
const writer = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'writer' },
  spec: {
    containers: [{ name: 'c', image: images.test, volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
  },
};
const web = {
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'web' },
  spec: {
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: images.test }] } },
  },
};
const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web' },
  spec: { selector: labels, ports: [{ port: 80, targetPort: 8080 }] },
};

const programs = await run('sh', ['-c', 'command -v wg && command -v wireguard-go']);
const encrypted = programs.code === 0 ? ['--flannel-backend', 'wireguard-native'] : [];

describe('two nodes after the power of their machine was lost', () => {
  let cluster: TestCluster;
  let further: { name: string; address: string; dataDir: string };
  before(async () => {
    cluster = await startCluster({ flags: ['--nodes', '2', '--node-name', 'home', ...encrypted], images: false });
    [further] = JSON.parse(await command('node', 'ls', '--output', 'json')) as [typeof further];
    const archive = join(cluster.dataDir, 'test.tar');
    writeFileSync(archive, testImage().archive);
    await command('image', 'load', archive);
    for (const object of [claim, writer, web, service]) await cluster.apply(object);
    await cluster.kubectl('wait pod/writer --for=condition=Ready --timeout=120s');
    await cluster.kubectl('rollout status daemonset/web --timeout=120s');
    await cluster.kubectl(['exec', 'writer', '--', 'sh', '-c', 'echo kept > /data/file && sync']);
  });
  after(async () => {
    await cluster?.stop();
    const { dataDir } = further;
    assert.deepEqual(await leftovers({ ...cluster, hash: hashOf(dataDir), dataDir }), []);
  });

  const command = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await keelson([...args, '--data-dir', cluster.dataDir]);
    assert.equal(code, 0, stdout + stderr);
    return stdout;
  };
  const podNames = () => cluster.kubectl('get pods -o name');

  it('have their pods, volumes, names and services again', async () => {
    const before = await podNames();
    await losePower([cluster, { dataDir: further.dataDir, hash: hashOf(further.dataDir) }]);
    await cluster.up();
    assert.deepEqual(JSON.parse(await command('node', 'ls', '--output', 'json')), [{ ...further, state: 'running' }]);
    const restarts = 'get pods -o jsonpath={range.items[*]}{.status.containerStatuses[0].restartCount}{end}';
    await cluster.until('each container once more', async () => (await cluster.kubectl(restarts)) === '111');
    await cluster.kubectl('wait pods --all --for=condition=Ready --timeout=120s');
    await cluster.kubectl('wait nodes --all --for=condition=Ready --timeout=120s');
    assert.equal(await podNames(), before);
    assert.equal(await cluster.kubectl('exec writer -- cat /data/file'), 'kept\n');
    const hosts = new Set<string>();
    const fetch = 'exec writer -- curl -s -m 3 http://web.default.svc/cgi-bin/hostname';
    await cluster.until('both pods of the service', async () => {
      const { stdout } = await cluster.outcome(fetch);
      if (stdout.startsWith('web-')) hosts.add(stdout.trim());
      return hosts.size === 2;
    });
    if (encrypted.length > 0)
      assert.match(await must('wg', ['show', `kw${cluster.hash}`, 'transfer']), /\t[1-9]\d*\t[1-9]/);
  });
});
