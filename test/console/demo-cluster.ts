/** A simulated cluster in which something is going on: what screenshots and checks of whole pages look at. */
import { Cluster } from '../../src/testing/index.ts';

const workload = (kind: string, name: string, image: string, more: string): string => `
apiVersion: apps/v1
kind: ${kind}
metadata: {name: ${name}, namespace: shop, labels: {app: ${name}, tier: backend}}
spec:
  ${more}
  selector: {matchLabels: {app: ${name}}}
  template:
    metadata: {labels: {app: ${name}}}
    spec: {containers: [{name: main, image: ${image}, resources: {requests: {cpu: 100m, memory: 64Mi}}}]}
---`;

const MANIFESTS = `${workload('Deployment', 'front', 'shop/front:2', 'replicas: 6')}
${workload('Deployment', 'cart', 'shop/cart:1', 'replicas: 3')}
${workload('Deployment', 'payment', 'shop/broken:1', 'replicas: 2')}
${workload('Deployment', 'search', 'shop/missing:1', 'replicas: 1')}
${workload('StatefulSet', 'orders', 'shop/orders:1', 'replicas: 3\n  serviceName: orders')}
${workload('DaemonSet', 'agent', 'shop/agent:1', '')}
apiVersion: v1
kind: Service
metadata: {name: front, namespace: shop}
spec: {selector: {app: front}, ports: [{port: 80}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: import, namespace: shop}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: main, image: shop/import:1}]}
---
apiVersion: v1
kind: Pod
metadata: {name: too-large, namespace: shop}
spec: {containers: [{name: main, image: shop/agent:1, resources: {requests: {cpu: '500'}}}]}
`;

export async function startDemoCluster(): Promise<Cluster> {
  const cluster = await Cluster.start({ clock: 'real', nodes: 5, unknownImages: 'run' });
  cluster.image('shop/broken:1', { exits: { after: '2s', code: 1 } });
  cluster.image('shop/import:1', { exits: { after: '1s', code: 0 } });
  cluster.image('shop/missing:1', { present: false, pull: { error: 'manifest unknown' } });
  for (const name of ['front', 'cart', 'orders', 'agent'])
    cluster.image(`shop/${name}:1`, { usage: { cpu: '150m', memory: '180Mi' } });
  await cluster.apply('{apiVersion: v1, kind: Namespace, metadata: {name: shop}}');
  await cluster.eventually(() => cluster.client.raw({ path: '/api/v1/namespaces/shop/serviceaccounts/default' }));
  await cluster.apply(MANIFESTS);
  return cluster;
}
