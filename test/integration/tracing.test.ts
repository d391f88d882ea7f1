/** Spans of the API server and the kubelet on a real node, as a collector gets them over OTLP. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { images, startCluster, type TestCluster } from './cluster-fixture.ts';
import { startTraceCollector, type CollectedSpan, type TraceCollector } from './fixtures/trace-collector.ts';

describe('tracing', () => {
  const folder = mkdtempSync(join(tmpdir(), 'keelson-tracing-'));
  let collector: TraceCollector;
  let cluster: TestCluster;
  before(async () => {
    collector = await startTraceCollector();
    const rate = `endpoint: ${collector.endpoint}\nsamplingRatePerMillion: 1000000\n`;
    const file = (name: string, text: string): string => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    const server = file('server.yaml', `apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\n${rate}`);
    const kubelet = file(
      'kubelet.yaml',
      `apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ntracing:\n${rate.replaceAll(/^/gm, '  ')}`,
    );
    cluster = await startCluster({ flags: ['--tracing-config-file', server, '--kubelet-config', kubelet] });
  });
  after(async () => {
    await cluster?.stop();
    await collector?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('the sync of a pod has the calls of the runtime, and requests have their handlers', async () => {
    const space = await cluster.space('traced');
    const spec = { containers: [{ name: 'web', image: images.test, command: ['sh', '-c', 'sleep 1000'] }] };
    await space.apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec });
    await space.kubectl('wait --for=condition=Ready pod/web --timeout=60s');
    const sync = await space.until('the sync that started the pod', async () => {
      const syncs = spansNamed(collector, 'syncPod').filter(({ attributes }) => attributes['k8s.pod'] === 'traced/web');
      return syncs.find(({ traceId }) => callsOf(collector, traceId).length > 0);
    });
    assert.equal(sync.service, 'kubelet');
    assert.deepEqual(
      ['k8s.pod.name', 'k8s.namespace.name', 'k8s.pod.update_type'].map((key) => sync.attributes[key]),
      ['web', 'traced', 'create'],
    );
    assert.equal(sync.parentSpanId, '');
    const calls = callsOf(collector, sync.traceId);
    const runtime = ['RunPodSandbox', 'PodSandboxStatus', 'CreateContainer', 'StartContainer'];
    for (const name of [...runtime.map((call) => `RuntimeService/${call}`), 'ImageService/ImageStatus'])
      assert.ok(
        calls.some((call) => call.name === `runtime.v1.${name}` && call.kind === 'SPAN_KIND_CLIENT'),
        name,
      );
    for (const call of calls) assert.ok(call.startMs >= sync.startMs && call.endMs <= sync.endMs, call.name);
    await space.until('the request that created the pod', async () => {
      const requests = spansNamed(collector, 'POST /api/v1/namespaces/{:namespace}/pods');
      return requests.find(({ attributes }) => attributes['url.path'] === '/api/v1/namespaces/traced/pods');
    });
  });
});

function spansNamed({ spans }: TraceCollector, name: string): CollectedSpan[] {
  return spans.filter((span) => span.name === name);
}

function callsOf({ spans }: TraceCollector, traceId: string): CollectedSpan[] {
  return spans.filter((span) => span.traceId === traceId && span.name.startsWith('runtime.v1.'));
}
