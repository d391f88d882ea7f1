/** `keelson rolling-update` as a process that is killed half-way, and run again. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Pods, ReplicationControllers } from '../../src/api/gen/resources.ts';
import type { ReplicationController } from '../../src/api/gen/core-v1.ts';
import { Cluster } from '../../src/testing/index.ts';
import { keelsonProgram, start } from '../integration/fixtures/programs.ts';
import { until } from '../integration/fixtures/until.ts';

const controller = (version: string): ReplicationController => ({
  apiVersion: 'v1',
  kind: 'ReplicationController',
  metadata: { name: `web-${version}`, namespace: 'default' },
  spec: {
    replicas: 3,
    selector: { app: 'web', version },
    template: {
      metadata: { labels: { app: 'web', version } },
      spec: { terminationGracePeriodSeconds: 0, containers: [{ name: 'c', image: `web:${version}` }] },
    },
  },
});

test('keelson rolling-update: after a kill it continues where it was', async (t) => {
  const cluster = await Cluster.start({ nodes: 1, clock: 'real' });
  const folder = await mkdtemp(join(tmpdir(), 'keelson-roll-'));
  t.after(async () => {
    await cluster.stop();
    await rm(folder, { recursive: true });
  });
  await cluster.apply(controller('1'));
  await cluster.waitFor<ReplicationController>('rc/web-1', ({ status }) => status?.readyReplicas === 3);
  await writeFile(join(folder, 'kubeconfig'), await cluster.kubeconfig());
  await writeFile(join(folder, 'next.json'), JSON.stringify(controller('2')));
  const roll = (period: string) => {
    const times = [`--update-period=${period}`, '--poll-interval=100ms'];
    const files = ['-f', join(folder, 'next.json'), `--kubeconfig=${folder}/kubeconfig`];
    return start(process.execPath, [keelsonProgram, 'rolling-update', 'web-1', ...files, ...times]);
  };
  // It would wait an hour after the first pod.
  const first = roll('1h');
  t.after(() => first.kill('SIGKILL'));
  await first.until(/Scaling web-1 down to 2\n/);
  await until('the first pod is replaced', async () => {
    const old = await cluster.client.resource(ReplicationControllers).get({ namespace: 'default', name: 'web-1' });
    return old.status?.replicas === 2;
  });
  first.kill('SIGKILL');
  await first.ended();
  const second = roll('0s');
  t.after(() => second.kill('SIGKILL'));
  const { code, stdout, stderr } = await second.ended();
  assert.deepEqual(
    [code, stdout.split('\n')],
    [
      0,
      [
        'Found existing update in progress (web-2), resuming.',
        "Scaling up web-2 from 1 to 3, scaling down web-1 from 2 to 0 (keep 3 pods available, don't exceed 4 pods)",
        'Scaling web-2 up to 2',
        'Scaling web-1 down to 1',
        'Scaling web-2 up to 3',
        'Scaling web-1 down to 0',
        'Update succeeded. Deleting web-1',
        'replicationcontroller "web-2" rolling updated',
        '',
      ],
    ],
    stderr,
  );
  const controllers = await cluster.client.resource(ReplicationControllers).list({ namespace: 'default' });
  assert.deepEqual(
    controllers.items.map(({ metadata }) => metadata.name),
    ['web-2'],
  );
  await until('the pods of the new one alone', async () => {
    const { items } = await cluster.client.resource(Pods).list({ namespace: 'default' });
    return items.length === 3 && items.every(({ metadata }) => metadata.labels?.['version'] === '2');
  });
});
