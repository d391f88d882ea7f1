/** Integers beyond 2^53, which are bigints in this process, in every field that may have them, through every component. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pods } from '../api/gen/resources.ts';
import { Cluster } from './cluster.ts';

const MAX = '9223372036854775807';
const pod = (more = ''): string => `
terminationGracePeriodSeconds: ${MAX}
tolerations: [{key: k, operator: Exists, effect: NoExecute, tolerationSeconds: ${MAX}}]
topologySpreadConstraints:
- {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, nodeTaintsPolicy: Honor, labelSelector: {matchLabels: {a: b}}}
containers:
- {name: c, image: "i:1", lifecycle: {preStop: {sleep: {seconds: 9223372036854775806}}}}
${more}`;
const indented = (text: string, by: number): string => text.trim().replaceAll(/^/gm, ' '.repeat(by));
const template = (name: string, more = ''): string => `
    metadata: {labels: {a: b, app: ${name}}}
    spec:
${indented(pod(more), 6)}`;

const workloads = ['Deployment', 'ReplicaSet', 'StatefulSet', 'DaemonSet'].map(
  (kind) => `
apiVersion: apps/v1
kind: ${kind}
metadata: {name: ${kind.toLowerCase()}, generation: ${MAX}}
spec:
  selector: {matchLabels: {app: ${kind}}}
  template:${template(kind)}`,
);

const others = [
  `
apiVersion: batch/v1
kind: Job
metadata: {name: job}
spec:
  activeDeadlineSeconds: ${MAX}
  template:${template('job', 'restartPolicy: Never')}`,
  `
apiVersion: batch/v1
kind: CronJob
metadata: {name: cron}
spec: {schedule: "* * * * *", startingDeadlineSeconds: ${MAX}, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: "i:1"}]}}}}}`,
  `
apiVersion: v1
kind: Pod
metadata: {name: bare, generation: ${MAX}, labels: {a: b}}
spec:
${indented(pod(), 2)}`,
];

const DEFINITION = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: larges.test.io}
spec:
  group: test.io
  scope: Namespaced
  names: {plural: larges, kind: Large}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            x-kubernetes-validations: [{rule: "self.list.all(x, x.key >= oldSelf.list[0].key)"}]
            properties:
              count: {type: integer, format: int64, default: ${MAX}}
              list:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [key]
                items:
                  type: object
                  required: [key]
                  x-kubernetes-validations: [{rule: "self.key == oldSelf.key"}]
                  properties: {key: {type: integer, format: int64}}`;
const custom = (label: string): string => `
apiVersion: test.io/v1
kind: Large
metadata: {name: one, labels: {a: ${label}}}
spec: {list: [{key: ${MAX}}]}`;

async function unexpectedErrors(cluster: Cluster): Promise<string[]> {
  const { body } = await cluster.client.raw({ method: 'GET', path: '/metrics' });
  return [
    ...Buffer.from(body)
      .toString()
      .matchAll(/^keelson_unexpected_errors_total.* [1-9]\d*$/gm),
  ].map(([line]) => line);
}

test('pods, workloads and jobs with them run, and are evicted', async () => {
  await using cluster = await Cluster.start({ nodes: 2 });
  await cluster.apply([...workloads, ...others].join('\n---\n'));
  const pods = cluster.client.resource(Pods);
  await cluster.eventually(async () => {
    const { items } = await pods.list({ namespace: 'default' });
    // Deadlines of this many seconds overflow in nanoseconds: as upstream, the jobs' have passed at once.
    assert.equal(items.length, 6);
    assert.deepEqual([...new Set(items.map(({ status }) => status?.phase))], ['Running']);
  });
  await cluster.client.raw({
    method: 'PATCH',
    path: '/api/v1/nodes/node-1',
    headers: { 'content-type': 'application/merge-patch+json' },
    body: { spec: { taints: ['k', 'other'].map((key) => ({ key, effect: 'NoExecute' })) } },
  });
  await cluster.advance('3m');
  for (const path of ['/openapi/v2', '/api/v1/pods']) await cluster.client.raw({ method: 'GET', path });
  const { items } = await pods.list({ namespace: 'default' });
  assert.deepEqual(
    items.filter(({ metadata }) => metadata.name === 'bare'),
    [],
  );
  assert.deepEqual(await unexpectedErrors(cluster), []);
});

test('definitions with them can be described, and their objects are compared by them', async () => {
  await using cluster = await Cluster.start({ nodes: 0 });
  await cluster.apply(DEFINITION);
  await cluster.eventually(() => cluster.apply(custom('b')));
  await cluster.apply(custom('c'));
  for (const path of ['/openapi/v2', '/openapi/v3', '/openapi/v3/apis/test.io/v1', '/apis/test.io/v1/larges']) {
    const { body } = await cluster.client.raw({ method: 'GET', path });
    // Version 2 shows no defaults.
    const isShown = !['/openapi/v2', '/openapi/v3'].includes(path);
    assert.equal(Buffer.from(body).toString().includes(MAX), isShown, path);
  }
  assert.deepEqual(await unexpectedErrors(cluster), []);
});
