/** The default storage class in a simulated cluster, with the real scheduler, kubelets and node proxy. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StatefulSet } from '../api/gen/apps-v1.ts';
import type { PersistentVolume } from '../api/gen/core-v1.ts';
import { PersistentVolumeClaims, PersistentVolumes, Pods, StatefulSets } from '../api/gen/resources.ts';
import { image } from '../cri/sim/sim-image.ts';
import { Cluster } from './cluster.ts';

const KEPT = `
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: kept
spec:
  replicas: 2
  serviceName: kept
  selector: { matchLabels: { app: kept } }
  template:
    metadata: { labels: { app: kept } }
    spec:
      containers:
        - name: web
          image: web:1
          volumeMounts: [{ name: data, mountPath: /data }]
  volumeClaimTemplates:
    - metadata: { name: data }
      spec:
        accessModes: [ReadWriteOnce]
        resources: { requests: { storage: 1Gi } }
`;

test('each pod of a stateful set gets a volume on its node and returns to that node', async () => {
  await using cluster = await Cluster.start({ nodes: 2, images: [image('web:1')] });
  const pods = cluster.client.resource(Pods);
  const volumes = cluster.client.resource(PersistentVolumes);
  await cluster.apply(KEPT);
  const ready = (set: StatefulSet): boolean => set.status?.readyReplicas === 2;
  await cluster.waitFor<StatefulSet>('statefulset/kept', ready);
  const made = (await volumes.list()).items;
  assert.deepEqual(
    made.map(({ status, spec }: PersistentVolume) => [status?.phase, spec?.storageClassName]),
    [
      ['Bound', 'local-path'],
      ['Bound', 'local-path'],
    ],
  );
  const key = { namespace: 'default', name: 'kept-0' };
  const before = await pods.get(key);
  await pods.delete(key);
  await cluster.advance('1m');
  await cluster.waitFor<StatefulSet>('statefulset/kept', ready);
  const now = await pods.get(key);
  assert.notEqual(now.metadata.uid, before.metadata.uid);
  assert.equal(now.spec?.nodeName, before.spec?.nodeName);

  await cluster.client.resource(StatefulSets).delete({ namespace: 'default', name: 'kept' });
  await cluster.client.resource(PersistentVolumeClaims).deleteCollection({ namespace: 'default' });
  await cluster.advance('2m');
  assert.deepEqual((await volumes.list()).items, []);
});
