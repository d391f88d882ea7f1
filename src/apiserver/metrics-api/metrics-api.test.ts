import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Nodes, Pods } from '../../api/gen/resources.ts';
import { createMemoryLog } from '../../platform/sim/log.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import type { HttpAnswer } from '../../platform/net.ts';
import { createTestObjects } from '../authz/objects-fixture.ts';
import { parseRequestInfo } from '../request-info.ts';
import { RequestScope } from '../request-scope.ts';
import { createMetricsApi } from './metrics-api.ts';
import { createUsageSource } from './usage-source.ts';

const TIME = '2026-01-01T00:00:00Z';

/**
 * Two nodes, one of which fails or answers an odd summary. Pods: one of two containers, one with a single sample, one that ended.
 */
function fixture(volumes: readonly object[] = [], otherSummary?: string) {
  const clock = new VirtualClock();
  const objects = createTestObjects();
  const log = createMemoryLog();
  const node = (name: string, address: string): object => ({
    metadata: { name, labels: { 'kubernetes.io/hostname': name } },
    status: {
      conditions: [{ type: 'Ready', status: 'True' }],
      addresses: [{ type: 'InternalIP', address }],
      daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
    },
  });
  objects.put(Nodes, node('a', '10.0.0.1') as never, node('b', '10.0.0.2') as never);
  const pod = (name: string, phase: string): object => ({
    metadata: { name, namespace: 'x', labels: { app: name } },
    spec: { nodeName: 'a', containers: [] },
    status: { phase },
  });
  objects.put(
    Pods,
    pod('web', 'Running') as never,
    pod('fresh', 'Running') as never,
    pod('over', 'Succeeded') as never,
  );
  const container = (name: string, usageNanoCores?: number) => ({
    name,
    cpu: { time: TIME, ...(usageNanoCores === undefined ? {} : { usageNanoCores }) },
    memory: { workingSetBytes: 3 * 1024 * 1024 },
  });
  let calls = 0;
  const net = {
    http: async ({ url }: { url: string }): Promise<HttpAnswer> => {
      calls++;
      const isOther = url.startsWith('https://10.0.0.2');
      if (isOther && otherSummary === undefined) throw new Error('connect ECONNREFUSED');
      const summary = {
        // Rates take two readings.
        node: container('', calls > 2 ? 1_500_000_000 : undefined),
        pods: [
          {
            podRef: { namespace: 'x', name: 'web' },
            containers: [container('c', 1_234_567), container('d', 0)],
            volume: volumes,
          },
          { podRef: { namespace: 'x', name: 'fresh' }, containers: [container('c', 1), container('d')] },
          { podRef: { namespace: 'x', name: 'over' }, containers: [container('c', 1)] },
        ],
      };
      const body = (async function* () {
        yield Buffer.from(isOther ? otherSummary! : JSON.stringify(summary));
      })();
      return { status: 200, headers: {}, body, cancel: () => undefined };
    },
  };
  const usage = createUsageSource({ objects: objects.store, net, clock, log, kubeletTls: () => ({}) });
  const api = createMetricsApi({ objects: objects.store, usage });
  const get = async (path: string, query = '', method = 'GET') => {
    const params = new URLSearchParams(query);
    const request = { method, path, query, headers: {}, wantsObjects: true } as never;
    const info = parseRequestInfo({ method, path, params });
    const scope = new RequestScope({ request, info, params, user: { name: 'u', groups: [] } });
    const response = await clock.drive(Promise.resolve().then(() => api.serve(scope)));
    return (response as { object: unknown }).object as Record<string, unknown> & { items: Record<string, unknown>[] };
  };
  const addPod = (name: string, nodeName: string): void =>
    objects.put(Pods, { ...pod(name, 'Running'), spec: { nodeName, containers: [] } } as never);
  return { get, log, clock, addPod, calls: () => calls };
}

const ROOT = '/apis/metrics.k8s.io/v1beta1';

describe('metrics API', () => {
  it('returns the use of nodes; a node that does not answer is left out', async () => {
    const { get, log } = fixture();
    const { items, kind } = await get(`${ROOT}/nodes`);
    assert.equal(kind, 'NodeMetricsList');
    assert.deepEqual(items, [
      {
        kind: 'NodeMetrics',
        apiVersion: 'metrics.k8s.io/v1beta1',
        metadata: { name: 'a', creationTimestamp: TIME, labels: { 'kubernetes.io/hostname': 'a' } },
        timestamp: TIME,
        window: '10s',
        usage: { cpu: '1500m', memory: '3Mi' },
      },
    ]);
    assert.ok(
      log.entries.some(({ level, message }) => level === 'warn' && message === 'Failed to read the usage of a node'),
    );
  });

  it('returns the use of running pods by container', async () => {
    const { get } = fixture();
    const { items } = await get(`${ROOT}/namespaces/x/pods`);
    assert.deepEqual(
      items.map((item) => item['containers']),
      [
        [
          { name: 'c', usage: { cpu: '1234567n', memory: '3Mi' } },
          { name: 'd', usage: { cpu: '0', memory: '3Mi' } },
        ],
      ],
    );
  });

  it('reads nodes whose pods have many volumes', async () => {
    const volume = {
      name: 'data',
      time: TIME,
      capacityBytes: 1,
      availableBytes: 1,
      usedBytes: 1,
      inodes: 1,
      inodesFree: 1,
    };
    const volumes = Array.from({ length: 20_000 }, () => volume);
    assert.equal((await fixture(volumes).get(`${ROOT}/namespaces/x/pods`)).items.length, 1);
  });

  const selections: [query: string, names: unknown[]][] = [
    ['labelSelector=app%3Dweb', ['web']],
    ['labelSelector=app%21%3Dweb', []],
    ['fieldSelector=metadata.namespace%3Dx', ['web']],
    ['fieldSelector=metadata.namespace%3Dy', []],
  ];
  for (const [query, names] of selections) {
    it(`selects by ${decodeURIComponent(query)}`, async () => {
      const { items } = await fixture().get(`${ROOT}/pods`, query);
      assert.deepEqual(
        items.map((item) => (item['metadata'] as { name: string }).name),
        names,
      );
    });
  }

  const refused: [path: string, query: string, method: string, message: RegExp][] = [
    [`${ROOT}/nodes/z`, '', 'GET', /^nodes\.metrics\.k8s\.io "z" not found$/],
    [`${ROOT}/pods`, 'labelSelector=%3D%3D', 'GET', /^found '=='/],
    [`${ROOT}/pods`, 'fieldSelector=spec.x%3D1', 'GET', /field label not supported: spec\.x/],
    [`${ROOT}/nodes`, '', 'POST', /^the server does not allow this method on the requested resource$/],
    [`${ROOT}/cows`, '', 'GET', /could not find the requested resource/],
    [`${ROOT}/nodes/a/status`, '', 'GET', /could not find the requested resource/],
  ];
  for (const [path, query, method, message] of refused)
    it(`refuses ${method} ${path} ${query}`, async () =>
      assert.rejects(fixture().get(path, query, method), { message }));

  for (const reading of [
    ...['"usageNanoCores":"abc"', '"usageNanoCores":{}', '"usageNanoCores":null', '"usageNanoCores":[1]'],
    ...[
      '"usageNanoCores":1e400',
      '"usageNanoCores":-1',
      '"usageNanoCores":5e300',
      '"usageNanoCores":99999999999999999999',
    ],
    ...['"usageNanoCores":1,"time":"soon"', '"usageNanoCores":1,"time":{}', '"usageNanoCores":1,"time":null'],
  ])
    it(`leaves out a node that reports ${reading}, and no other`, async () => {
      const own = `{"name":"c","cpu":{"time":"${TIME}",${reading}},"memory":{"workingSetBytes":1}}`;
      const pods = `[{"podRef":{"namespace":"x","name":"foreign"},"containers":[${own}]}]`;
      const { get, addPod } = fixture([], `{"node":${own},"pods":${pods}}`);
      addPod('foreign', 'b');
      const names = ({ items }: { items: Record<string, unknown>[] }): unknown[] =>
        items.map((item) => (item['metadata'] as { name: string }).name);
      assert.deepEqual(names(await get(`${ROOT}/nodes`)), ['a']);
      assert.deepEqual(names(await get(`${ROOT}/pods`)), ['web']);
    });

  it('reads the kubelets again after ten seconds, not before', async () => {
    const { get, clock, calls } = fixture();
    await get(`${ROOT}/nodes`);
    const first = calls();
    await get(`${ROOT}/nodes`);
    assert.equal(calls(), first);
    await clock.advance(11_000);
    await get(`${ROOT}/nodes`);
    assert.ok(calls() > first);
  });
});
