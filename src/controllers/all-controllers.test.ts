import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  DaemonSets,
  Deployments,
  Jobs,
  PersistentVolumeClaims,
  PersistentVolumes,
  ResourceQuotas,
  StatefulSets,
} from '../api/gen/resources.ts';
import { controllers } from './list.ts';
import { startServerHarness } from './server-harness-fixture.ts';

it('all controllers together, each with the rights of its own account, run without errors and become idle', async () => {
  const h = await startServerHarness(Object.values(controllers));
  await h.addNode('n');
  const template = { metadata: { labels: { app: 'x' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  const selector = { matchLabels: { app: 'x' } };
  const labelled = (app: string): object => ({
    selector: { matchLabels: { app } },
    template: { ...template, metadata: { labels: { app } } },
  });
  await h.create(ResourceQuotas, { metadata: { name: 'q' }, spec: { hard: { pods: '20', 'count/jobs.batch': '5' } } });
  await h.run(500);
  await h.create(PersistentVolumes, {
    metadata: { name: 'v' },
    spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/data' } },
  });
  await h.create(PersistentVolumeClaims, {
    metadata: { name: 'c' },
    spec: { storageClassName: '', accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  });
  await h.create(Deployments, { metadata: { name: 'd' }, spec: { replicas: 2, selector, template } });
  await h.create(DaemonSets, { metadata: { name: 's' }, spec: labelled('y') });
  await h.create(StatefulSets, { metadata: { name: 't' }, spec: { replicas: 2, serviceName: 't', ...labelled('z') } });
  await h.create(Jobs, {
    metadata: { name: 'j' },
    spec: {
      ttlSecondsAfterFinished: 1,
      template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } },
    },
  });
  await h.run(3000);
  assert.equal((await h.pods()).length, 6);
  for (const pod of (await h.pods()).filter((p) => p.metadata.name?.startsWith('j-'))) await h.finish(pod, 'Succeeded');
  await h.run(5000, { stepMs: 500 });
  assert.equal((await h.list(Jobs)).length, 0);
  assert.equal((await h.pods()).length, 5);
  const complaints = h.log.entries
    .filter(({ level }) => level === 'warn' || level === 'error')
    .map((entry) => JSON.stringify(entry, (_, value) => (value instanceof Error ? value.message : value)));
  assert.deepEqual(complaints, []);
  await h.stop();
});
