import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from './server-fixture.ts';

test('operations and objects of the store, by group and resource', async () => {
  const { send, server } = await startTestServer();
  const path = '/apis/apps/v1/namespaces/d/deployments';
  await send('POST', path, { metadata: { name: 'a' }, spec: {} });
  await send('DELETE', `${path}/a`);
  await send('POST', path, { metadata: { name: 'b' }, spec: {} });
  const { text } = await send('GET', '/metrics');
  for (const line of [
    'etcd_requests_total{group="apps",operation="create",resource="deployments"} 2',
    'etcd_requests_total{group="apps",operation="delete",resource="deployments"} 1',
    'etcd_request_errors_total{group="apps",operation="create",resource="deployments"} 0',
    'etcd_request_duration_seconds_bucket{group="apps",operation="create",resource="deployments",le="60"} 2',
    'apiserver_resource_objects{group="apps",resource="deployments"} 1',
    'apiserver_storage_objects{resource="deployments.apps"} 1',
  ])
    assert.ok(text.includes(`${line}\n`), line);
  assert.match(text, /apiserver_storage_size_bytes\{storage_cluster_id="memory-0"\} \d+/);
  await server.stop();
});
