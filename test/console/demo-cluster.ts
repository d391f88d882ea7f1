/** A simulated cluster in which something is going on: what screenshots and checks of whole pages look at. */
import { Cluster } from '../../src/testing/index.ts';
import { historyInMemory } from './history-in-memory.ts';

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
apiVersion: v1
kind: Service
metadata: {name: payment, namespace: shop}
spec: {selector: {app: payment}, ports: [{port: 443}]}
---
apiVersion: v1
kind: Service
metadata: {name: mail, namespace: shop}
spec: {type: ExternalName, externalName: mail.example.com}
---
apiVersion: v1
kind: Service
metadata: {name: missing, namespace: shop}
spec: {selector: {app: none}, ports: [{port: 80}]}
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

const claim = (name: string, storageClass: string): string => `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: ${name}, namespace: shop}
spec: {accessModes: [ReadWriteOnce], storageClassName: ${storageClass}, resources: {requests: {storage: 5Gi}}}
---`;

const volume = (name: string, node: string): string => `
apiVersion: v1
kind: PersistentVolume
metadata: {name: ${name}}
spec:
  capacity: {storage: 5Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: disks
  hostPath: {path: /disks/${name}, type: DirectoryOrCreate}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [${node}]}]}]}}
---`;

/** Data of two pods on disks of two nodes, and a claim that waits. */
const STORAGE = `${['ledger', 'photos'].map((name) => claim(name, 'disks')).join('')}${claim('archive', 'tapes')}
${volume('disk-1', 'node-1')}${volume('disk-2', 'node-2')}
${['ledger', 'photos']
  .map(
    (name) => `
apiVersion: v1
kind: Pod
metadata: {name: ${name}, namespace: shop, labels: {app: ${name}}}
spec:
  containers: [{name: main, image: shop/agent:1, volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: ${name}}}]
---`,
  )
  .join('')}`;

const policy = (name: string, spec: string): string => `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: ${name}, namespace: shop}
spec: ${spec}
---`;

/** Orders are reached from the cart alone, at one port; the cart reaches orders and nothing else. */
const POLICIES = [
  policy(
    'orders-in',
    '{podSelector: {matchLabels: {app: orders}}, ingress: [{from: [{podSelector: {matchLabels: {app: cart}}}], ports: [{port: 5432}]}]}',
  ),
  policy(
    'cart-out',
    '{podSelector: {matchLabels: {app: cart}}, policyTypes: [Egress], egress: [{to: [{podSelector: {matchLabels: {app: orders}}}]}]}',
  ),
].join('');

const NODES = ['a', 'a', 'b', 'b', 'c'].map((zone, at) => ({
  name: `node-${at + 1}`,
  labels: { 'topology.kubernetes.io/zone': `zone-${zone}` },
}));

export async function startDemoCluster(): Promise<Cluster> {
  const cluster = await Cluster.start({ clock: 'real', nodes: NODES, unknownImages: 'run', history: historyInMemory });
  cluster.image('shop/broken:1', { exits: { after: '2s', code: 1 } });
  cluster.image('shop/import:1', { exits: { after: '1s', code: 0 } });
  cluster.image('shop/missing:1', { present: false, pull: { error: 'manifest unknown' } });
  for (const name of ['front', 'cart', 'orders', 'agent'])
    cluster.image(`shop/${name}:1`, { usage: { cpu: '150m', memory: '180Mi' } });
  await cluster.apply('{apiVersion: v1, kind: Namespace, metadata: {name: shop}}');
  await cluster.eventually(() => cluster.client.raw({ path: '/api/v1/namespaces/shop/serviceaccounts/default' }));
  await cluster.apply(MANIFESTS);
  await cluster.apply(POLICIES);
  await cluster.apply(STORAGE);
  return cluster;
}
