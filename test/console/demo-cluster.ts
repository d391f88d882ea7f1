/** A simulated cluster with activity, for screenshots and for checks of whole pages. */
import { Cluster } from '../../src/testing/index.ts';
import { simulationRoutes } from '../../src/testing/simulation/simulation-route.ts';
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

/** Data of two pods on disks of two nodes, and a pending claim. */
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

/** Only the cart can reach orders, at one port; the cart can reach only orders. */
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

/** The output of `ls -la` in the container of orders. */
const FOLDER = [
  'total 28',
  'drwxr-xr-x    2 0        0             4096 Nov 24 18:40 bin',
  'drwxr-xr-x    9 0        0             4096 Nov 24 18:41 etc',
  'drwxrwxrwt    2 1000     1000          4096 Nov 28 07:02 tmp',
  'lrwxrwxrwx    1 0        0               11 Nov 24 18:40 data -> /mnt/orders',
  '-rw-r--r--    1 1000     1000         18237 Nov 28 07:02 orders.log',
  '-rwxr-xr-x    1 0        0          7340032 Nov 24 18:40 server',
].join('\n');

export async function startDemoCluster(): Promise<Cluster> {
  const started: { cluster?: Cluster } = {};
  const cluster = await Cluster.start({
    clock: 'real',
    nodes: NODES,
    unknownImages: 'run',
    history: historyInMemory,
    routes: simulationRoutes({ cluster: () => started.cluster }),
  });
  started.cluster = cluster;
  cluster.image('shop/broken:1', { exits: { after: '2s', code: 1 } });
  cluster.image('shop/import:1', { exits: { after: '1s', code: 0 } });
  cluster.image('shop/missing:1', { present: false, pull: { error: 'manifest unknown' } });
  for (const name of ['front', 'cart', 'agent'])
    cluster.image(`shop/${name}:1`, { usage: { cpu: '150m', memory: '180Mi' } });
  cluster.image('shop/orders:1', {
    usage: { cpu: '70m', memory: '48Mi' },
    exec: ({ command }) => ({ exitCode: 0, stdout: command[0] === 'ls' ? FOLDER : '/ # ' }),
    async run({ log, sleep, stopped }) {
      log('\u001b[32mready\u001b[0m at :8080');
      for (let order = 4711; !stopped.aborted; order++) {
        log(
          order % 7 === 0
            ? `\u001b[33mwarn\u001b[0m order ${order}: the card is asked again`
            : `info order ${order} is paid`,
        );
        await sleep(700);
      }
      return 0;
    },
  });
  await cluster.apply('{apiVersion: v1, kind: Namespace, metadata: {name: shop}}');
  await cluster.eventually(() => cluster.client.raw({ path: '/api/v1/namespaces/shop/serviceaccounts/default' }));
  await cluster.apply(MANIFESTS);
  await cluster.apply(POLICIES);
  await cluster.apply(STORAGE);
  return cluster;
}
