import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pods } from '../api/gen/resources.ts';
import { image } from '../cri/sim/sim-image.ts';
import { Cluster } from './cluster.ts';

/** Host paths with a type, as agents of real projects mount them. */
const HOST_PATHS = [
  ['/sys/fs/cgroup', 'Directory'],
  ['/proc', 'Directory'],
  ['/dev', 'Directory'],
  ['/var/log', 'Directory'],
  ['/lib/modules', 'Directory'],
  ['/etc/cni/net.d', 'Directory'],
  ['/run', 'Directory'],
  ['/etc/machine-id', 'File'],
  ['/run/containerd/containerd.sock', 'Socket'],
  ['/var/run/containerd/containerd.sock', 'Socket'],
  ['/var/lib/agent', 'DirectoryOrCreate'],
] as const;

const podOf = (name: string, spec: object): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec,
});

test('an agent without an image description, not root, mounts files that every machine has, also after a loss of power', async () => {
  await using cluster = await Cluster.start();
  const volumes = HOST_PATHS.map(([path, type], index) => ({ name: `v${index}`, hostPath: { path, type } }));
  const volumeMounts = volumes.map(({ name, hostPath }) => ({ name, mountPath: `/host${hostPath.path}` }));
  const containers = [{ name: 'agent', image: 'agent:1', volumeMounts, securityContext: { runAsNonRoot: true } }];
  await cluster.apply(podOf('agent', { containers, volumes }));
  await cluster.waitFor('pod/agent', 'Ready');
  await cluster.nodes.crash('node-1');
  await cluster.nodes.start('node-1');
  await cluster.waitFor('pod/agent', 'Ready', { within: '10m' });
});

test('a described image without a user is still refused when the pod must not run as root', async () => {
  await using cluster = await Cluster.start({ images: [image('root:1')] });
  const securityContext = { runAsNonRoot: true };
  await cluster.apply(podOf('root', { containers: [{ name: 'c', image: 'root:1', securityContext }] }));
  const waiting = () => cluster.peek(Pods)[0]?.status?.containerStatuses?.[0]?.state?.waiting;
  await cluster.waitFor('pod/root', () => waiting()?.reason === 'CreateContainerConfigError');
  assert.match(waiting()?.message ?? '', /image will run as root/);
});
