/** Spans of the API server and the kubelet on a real node, as a collector receives them over OTLP. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { kubeconfigOf } from '../../bench/hostile/kubeconfig.ts';
import { images, startCluster, type TestCluster } from './cluster-fixture.ts';
import { startTracedWebhook, type TracedWebhook } from './fixtures/traced-webhook.ts';
import { startTraceCollector, type CollectedSpan, type TraceCollector } from './fixtures/trace-collector.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const CLIENT_SPAN = 'b7ad6b7169203331';

/** Sends a POST as administrator with a trace context; resolves to the status of the response. */
function post(
  { kubeconfig }: TestCluster,
  path: string,
  { body, traceparent }: { readonly body: object; readonly traceparent: string },
): Promise<number> {
  const { server, tls } = kubeconfigOf(readFileSync(kubeconfig, 'utf8'));
  const headers = { 'content-type': 'application/json', traceparent };
  return new Promise((resolve, reject) => {
    const call = request(new URL(path, server), { method: 'POST', headers, ...tls }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
    });
    call.on('error', reject).end(JSON.stringify(body));
  });
}

describe('tracing', () => {
  const folder = mkdtempSync(join(tmpdir(), 'keelson-tracing-'));
  let collector: TraceCollector;
  let cluster: TestCluster;
  let webhook: TracedWebhook;
  before(async () => {
    collector = await startTraceCollector();
    webhook = await startTracedWebhook();
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
    try {
      await cluster?.stop();
    } finally {
      await collector?.close();
      webhook?.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('the sync of a pod contains the calls of the runtime, and requests contain their handlers', async () => {
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

  it("a client's context reaches a webhook through the API server's spans, in one trace", async () => {
    const space = await cluster.space('context');
    await space.apply(webhook.configuration('context'));
    const send = (name: string, flags: string): Promise<number> =>
      post(cluster, '/api/v1/namespaces/context/configmaps', {
        body: { metadata: { name } },
        traceparent: `00-${TRACE_ID}-${CLIENT_SPAN}-${flags}`,
      });
    let tries = 0;
    await space.until('the webhook is asked', async () => {
      await send(`asked-${tries++}`, '00');
      return webhook.received.length > 0;
    });
    assert.deepEqual(
      webhook.received.map(({ traceparent }) => traceparent).filter((one) => one !== undefined),
      [],
      'a client that does not sample is asked about without a trace',
    );
    assert.equal(await send('traced', '01'), 201);
    const named = (name: string): Promise<CollectedSpan> =>
      space.until(`span ${name}`, async () => spansNamed(collector, name).find(({ traceId }) => traceId === TRACE_ID));
    const handled = await named('POST /api/v1/namespaces/{:namespace}/configmaps');
    const [call, sent] = [await named('Call validating webhook'), await named('HTTP POST')];
    assert.deepEqual(
      [handled.service, handled.parentSpanId, sent.parentSpanId],
      ['apiserver', CLIENT_SPAN, call.spanId],
    );
    const received = webhook.received.find(({ name }) => name === 'traced');
    assert.equal(received?.traceparent, `00-${TRACE_ID}-${sent.spanId}-01`);
  });
});

function spansNamed({ spans }: TraceCollector, name: string): CollectedSpan[] {
  return spans.filter((span) => span.name === name);
}

function callsOf({ spans }: TraceCollector, traceId: string): CollectedSpan[] {
  return spans.filter((span) => span.traceId === traceId && span.name.startsWith('runtime.v1.'));
}
