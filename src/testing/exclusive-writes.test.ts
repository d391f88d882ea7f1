/** Scheduler, kubelets and API server do not write what `exclusive-writes.ts` reserves for controllers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Deployment } from '../api/gen/apps-v1.ts';
import { exclusiveWrites } from '../controllers/exclusive-writes.ts';
import { watchWrites } from '../controllers/write-watch-fixture.ts';
import { image } from '../cri/sim/sim-image.ts';
import { createMemoryStore } from '../storage/memory/memory-store.ts';
import type { Store } from '../storage/store.ts';
import { Cluster } from './cluster.ts';

const WEB = `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 3
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: web, image: 'web:1' }] }
---
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { selector: { app: web }, ports: [{ port: 80 }] }
---
apiVersion: batch/v1
kind: Job
metadata: { name: once }
spec:
  template:
    spec: { restartPolicy: Never, containers: [{ name: once, image: 'once:1' }] }
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: data }
spec:
  accessModes: [ReadWriteOnce]
  resources: { requests: { storage: 1Gi } }
---
apiVersion: v1
kind: Pod
metadata: { name: reader }
spec:
  containers: [{ name: web, image: 'web:1', volumeMounts: [{ name: data, mountPath: /data }] }]
  volumes: [{ name: data, persistentVolumeClaim: { claimName: data } }]
`;

test('no other component writes what is reserved for controllers', async () => {
  let store: Store | undefined;
  await using cluster = await Cluster.start({
    nodes: 2,
    images: [image('web:1'), image('once:1', { exits: { code: 0, after: '2s' } })],
    store: (clock) => (store = createMemoryStore({ clock })),
  });
  const watch = watchWrites(store!, Object.values(exclusiveWrites), {
    managerOf: () => 'kube-controller-manager',
    people: ['keelson-testing'],
  });
  await cluster.apply(WEB);
  await cluster.waitFor<Deployment>('deployment/web', (web) => web.status?.readyReplicas === 3);
  void cluster.nodes.crash('node-1');
  await cluster.advance('10m');
  await cluster.waitFor<Deployment>('deployment/web', (web) => web.status?.readyReplicas === 3);
  assert.deepEqual([...watch.violations], []);
  for (const seen of ['deployment-controller deployments status', 'node-controller nodes spec.podCIDR'])
    assert.ok(watch.seen.has(seen), seen);
  watch.stop();
});
