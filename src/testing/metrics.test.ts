/**
 * The metrics that dashboards and alerts read exist: those that the rules of kubernetes-mixin use of each component, as a whole
 * cluster exposes them after running a pod. Metrics of claims (kubelet_volume_stats_*), of network clients and of the service
 * proxy do not exist in a simulated cluster; tests beside their code cover them.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pods } from '../api/gen/resources.ts';
import type { Client } from '../client/client.ts';
import { createNodeClock } from '../platform/node/clock.ts';
import { Cluster } from './cluster.ts';

const API_SERVER = [
  'aggregator_unavailable_apiservice',
  'aggregator_unavailable_apiservice_total',
  'apiserver_client_certificate_expiration_seconds_bucket',
  'apiserver_client_certificate_expiration_seconds_count',
  'apiserver_current_inflight_requests',
  'apiserver_request_duration_seconds_bucket',
  'apiserver_request_sli_duration_seconds_bucket',
  'apiserver_request_sli_duration_seconds_count',
  'apiserver_request_terminations_total',
  'apiserver_request_total',
  'apiserver_storage_objects',
  'etcd_request_duration_seconds_bucket',
  'kubernetes_build_info',
  'scheduler_pod_scheduling_sli_duration_seconds_bucket',
  'scheduler_schedule_attempts_total',
  'scheduler_scheduling_algorithm_duration_seconds_bucket',
  'scheduler_scheduling_attempt_duration_seconds_bucket',
  'workqueue_adds_total',
  'workqueue_depth',
  'workqueue_queue_duration_seconds_bucket',
];

const KUBELET = [
  'kubelet_cgroup_manager_duration_seconds_bucket',
  'kubelet_cgroup_manager_duration_seconds_count',
  'kubelet_evictions',
  'kubelet_node_name',
  'kubelet_pleg_relist_duration_seconds_bucket',
  'kubelet_pleg_relist_duration_seconds_count',
  'kubelet_pleg_relist_interval_seconds_bucket',
  'kubelet_pod_start_duration_seconds_bucket',
  'kubelet_pod_start_duration_seconds_count',
  'kubelet_pod_start_sli_duration_seconds_bucket',
  'kubelet_pod_worker_duration_seconds_bucket',
  'kubelet_pod_worker_duration_seconds_count',
  'kubelet_running_containers',
  'kubelet_running_pods',
  'kubelet_runtime_operations_duration_seconds_bucket',
  'kubelet_runtime_operations_errors_total',
  'kubelet_runtime_operations_total',
  'storage_operation_duration_seconds_count',
  'volume_manager_total_volumes',
];

async function scrape(client: Client, path: string): Promise<string> {
  const { status, body } = await client.raw({ method: 'GET', path });
  assert.equal(status, 200, path);
  return Buffer.from(body).toString('utf8');
}

/** Every name with a HELP line or a series. */
function namesIn(text: string): ReadonlySet<string> {
  return new Set([...text.matchAll(/^(?:# HELP )?([a-z_]+)/gm)].map(([, name]) => name!));
}

function missing(text: string, wanted: readonly string[]): readonly string[] {
  const names = namesIn(text);
  return wanted.filter((name) => !names.has(name) && !names.has(name.replace(/_(bucket|count)$/, '')));
}

test('a cluster exposes the metrics that the rules of kubernetes-mixin use', async () => {
  await using cluster = await Cluster.start();
  await cluster.apply(`
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: data, namespace: default }
spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 1Gi } } }
---
apiVersion: v1
kind: Pod
metadata: { name: web, namespace: default }
spec:
  containers: [{ name: app, image: app, volumeMounts: [{ name: data, mountPath: /data }] }]
  volumes: [{ name: data, persistentVolumeClaim: { claimName: data } }]
`);
  await cluster.eventually(async () => {
    const pod = await cluster.client.resource(Pods).get({ namespace: 'default', name: 'web' });
    assert.equal(pod.status?.phase, 'Running');
  });
  const server = await scrape(cluster.client, '/metrics');
  assert.deepEqual(missing(server, API_SERVER), []);
  const [node] = cluster.nodes.names();
  const kubelet = await scrape(cluster.client, `/api/v1/nodes/${node}/proxy/metrics`);
  assert.deepEqual(missing(kubelet, KUBELET), []);
  for (const text of [server, kubelet]) {
    const typed = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
    assert.deepEqual(
      typed.filter((name, index) => typed.indexOf(name) !== index),
      [],
      'a scrape with a metric twice is refused',
    );
  }
  assert.match(kubelet, /^kubelet_running_pods 1$/m);
  assert.match(kubelet, /^kubelet_running_containers\{container_state="running"\} 1$/m);
  assert.match(kubelet, /^kubelet_runtime_operations_total\{operation_type="run_podsandbox"\} 1$/m);
  assert.match(kubelet, /^kubelet_started_containers_total\{container_type="container"\} 1$/m);
  assert.match(server, /^apiserver_request_total\{code="201",.*resource="pods",scope="resource",.*verb="POST"/m);
});

test('a cluster in real time exposes the delay of its event loop', async () => {
  await using cluster = await Cluster.start({ clock: 'real', nodes: 0, controllers: [], scheduler: false });
  const clock = createNodeClock();
  const isTold = (text: string): boolean => /^keelson_event_loop_stall_seconds_count [1-9]/m.test(text);
  while (!isTold(await scrape(cluster.client, '/metrics'))) {
    const endMs = clock.monotonicMs() + 200;
    while (clock.monotonicMs() < endMs);
    await cluster.advance('200ms');
  }
});
