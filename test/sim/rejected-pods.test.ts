/** Pods that the kubelet rejects are recreated at a limited rate by every kind of owner. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pods } from '../../src/api/gen/resources.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { Cluster } from '../../src/testing/cluster.ts';

const RUN_MS = 20_000;
const STEP_MS = 500;
/** One a second, and those of the first and the last. */
const MOST_PODS = 22;

/** Each owner has one pod, bound to the node, that requests more than the node has. */
function owners(): KubernetesObject[] {
  const labels = { app: 'a' };
  const resources = { requests: { cpu: '10' } };
  const template = {
    metadata: { labels },
    spec: { nodeName: 'small', containers: [{ name: 'c', image: 'a:1', resources }] },
  };
  const selector = { matchLabels: labels };
  const make = (apiVersion: string, kind: string, spec: object): KubernetesObject =>
    ({ apiVersion, kind, metadata: { name: 'a', namespace: kind.toLowerCase() }, spec }) as unknown as KubernetesObject;
  const once = { ...template, spec: { ...template.spec, restartPolicy: 'Never' } };
  return [
    make('apps/v1', 'ReplicaSet', { replicas: 1, selector, template }),
    make('v1', 'ReplicationController', { replicas: 1, selector: labels, template }),
    make('apps/v1', 'Deployment', { replicas: 1, selector, template }),
    make('apps/v1', 'StatefulSet', { replicas: 1, selector, template, serviceName: 'a' }),
    make('apps/v1', 'DaemonSet', { selector, template }),
    make('batch/v1', 'Job', { template: once, backoffLimit: 1000 }),
  ];
}

test('pods that are not admitted are recreated once a second at most', async () => {
  await using cluster = await Cluster.start({ nodes: [{ name: 'small', cpus: 2 }] });
  for (const owner of owners()) {
    const { namespace } = owner.metadata;
    await cluster.apply([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }, owner]);
    const seen = new Set<string>();
    for (let passed = 0; passed < RUN_MS; passed += STEP_MS) {
      await cluster.advance(`${STEP_MS}ms`);
      for (const { metadata } of (await cluster.client.resource(Pods).list({ namespace })).items)
        seen.add(metadata.uid);
    }
    assert.ok(seen.size > 1, `${owner.kind}: no pod was made again`);
    assert.ok(seen.size <= MOST_PODS, `${owner.kind}: ${seen.size} pods in 20 s`);
  }
});
