/** The default storage class: the data of a claim outlives its pods, and is deleted with the claim. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { images, startCluster, type Space, type TestCluster } from './cluster-fixture.ts';
import { endProcess } from './fixtures/programs.ts';

const claim = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name: 'data' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '64Mi' } } },
};

/** An unprivileged pod with the claim at /data. */
function podRunning(name: string, script: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 0,
      securityContext: { runAsUser: 1234, runAsGroup: 1234 },
      containers: [
        {
          name: 'app',
          image: images.test,
          command: ['sh', '-c', script],
          volumeMounts: [{ name: 'data', mountPath: '/data' }],
        },
      ],
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
    },
  };
}

async function runToEnd(space: Space, script: string): Promise<string> {
  await space.apply(podRunning('user', script));
  await space.until(
    'the pod has ended well',
    async () => (await space.kubectl('get pod user -o jsonpath={.status.phase}')) === 'Succeeded',
  );
  const output = await space.kubectl('logs user');
  await space.kubectl('delete pod user --wait');
  return output;
}

describe('local-path volumes', { skip: process.getuid?.() === 0 ? false : 'needs root' }, () => {
  let cluster: TestCluster;
  let root: string;

  before(async () => {
    cluster = await startCluster();
    root = join(cluster.dataDir, 'local-path');
  });
  after(() => cluster.stop());

  it('outlive the pod and are deleted with the claim', async () => {
    const space = await cluster.space('local-path');
    assert.match(
      await space.kubectl('get storageclass --no-headers'),
      /^local-path \(default\) +keelson.dev\/local-path /,
    );
    await space.apply(claim);
    await runToEnd(space, 'echo kept > /data/file');
    const [directory = ''] = readdirSync(root);
    assert.match(directory, /^pvc-[-0-9a-f]{36}_local-path_data$/);
    const modes = [root, join(root, directory)].map((path) => statSync(path).mode & 0o777);
    assert.deepEqual(modes, [0o700, 0o777]);
    assert.equal(readFileSync(join(root, directory, 'file'), 'utf8'), 'kept\n');
    assert.equal(await runToEnd(space, 'cat /data/file'), 'kept\n');
    await space.kubectl('delete pvc data --wait');
    await space.until('the directory is gone', async () => !existsSync(join(root, directory)));
    await space.until('the volume is gone', async () => (await space.kubectl('get pv -o name')) === '');
  });

  it('a deleted class is not created again', async () => {
    await cluster.kubectl('delete storageclass local-path');
    await endProcess(await cluster.pid());
    await cluster.up();
    assert.equal(await cluster.kubectl('get storageclass -o name'), '');
  });
});
