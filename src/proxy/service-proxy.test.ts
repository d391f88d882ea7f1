import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EndpointSlices, Nodes, Pods, Services } from '../api/gen/resources.ts';
import type { Node, Service } from '../api/gen/core-v1.ts';
import type { EndpointSlice } from '../api/gen/discovery-v1.ts';
import { formatTime } from '../api/time.ts';
import type { EventRecorder } from '../client/event-recorder.ts';
import { createInProcessClient } from '../client/in-process-transport.ts';
import { createInformerFactory } from '../client/informer-factory.ts';
import { createFakeApi } from '../client/fake-api-fixture.ts';
import { createSimPlatform } from '../platform/sim/sim-platform.ts';
import { createServiceProxy } from './service-proxy.ts';

const service = (name: string, clusterIP: string, extra: object = {}): Service => ({
  metadata: { namespace: 'ns', name },
  spec: { type: 'ClusterIP', clusterIP, clusterIPs: [clusterIP], ports: [{ port: 80 }], ...extra },
});
const slice = (name: string, addresses: readonly string[]): EndpointSlice => ({
  metadata: { namespace: 'ns', name: `${name}-1`, labels: { 'kubernetes.io/service-name': name } },
  addressType: 'IPv4',
  ports: [{ port: 8080 }],
  endpoints: addresses.map((a) => ({ addresses: [a], nodeName: 'here' })),
});

async function setUp(
  answer: (script: string) => { exitCode?: number; stderr?: string } = () => ({}),
  more: { readonly nodePortAddresses?: readonly string[] } = {},
) {
  const platform = createSimPlatform();
  const { clock, exec } = platform;
  const scripts: string[] = [];
  exec.program('nft', ({ options }) => {
    scripts.push(String(options.input));
    return answer(String(options.input));
  });
  const api = createFakeApi(() => '2026-01-01T00:00:00Z');
  api.seed(Nodes, { metadata: { name: 'here' } });
  api.seed(Services, service('web', '10.43.0.5'));
  api.seed(EndpointSlices, slice('web', ['10.42.0.2']));
  const client = createInProcessClient({
    handler: api.handler,
    clock,
    principal: { name: 'p', groups: [] },
    userAgent: 'test',
  });
  const informers = createInformerFactory({ client, clock, random: platform.random, log: platform.log });
  const config = {
    nodeName: 'here',
    nftTable: 'kt',
    clusterCidr: '10.42.0.0/16',
    serviceCidr: '10.43.0.0/16',
    masqueradeMark: 0x4001_0000,
    mode: 'nftables',
    ...more,
  } as const;
  const routed: number[] = [];
  const routeLoopback = async (): Promise<void> => void routed.push(scripts.length);
  const events: string[] = [];
  const recorder: EventRecorder = {
    event: (target, type, reason) => void events.push(`${type} ${reason} ${(target as Service).metadata.name}`),
  };
  const proxy = createServiceProxy({ informers, platform, recorder, routeLoopback }, config);
  const stop = new AbortController();
  informers.start(stop.signal);
  const running = proxy.start(stop.signal);
  await clock.settle();
  const end = async (): Promise<void> => {
    stop.abort();
    await clock.drive(running);
  };
  return { platform, clock, api, proxy, scripts, routed, events, end };
}

describe('the service proxy', () => {
  it('measures the time of a change of endpoints from its trigger into the kernel', async () => {
    const { api, clock, platform, proxy, end } = await setUp();
    await proxy.synced();
    const name = 'kubeproxy_network_programming_duration_seconds';
    assert.equal(platform.metrics.value(name), undefined);
    const triggered = { 'endpoints.kubernetes.io/last-change-trigger-time': formatTime(clock.nowMs() + 1000) };
    await clock.advance(3000);
    const changed = slice('web', ['10.42.0.3']);
    api.seed(EndpointSlices, { ...changed, metadata: { ...changed.metadata, annotations: triggered } });
    await clock.settle();
    assert.equal(platform.metrics.value(name), 1);
    assert.ok(Math.abs((platform.metrics.sum(name) ?? 0) - 2) <= 1);
    assert.ok((platform.metrics.value('kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds') ?? 0) > 0);
    await end();
  });

  it('logs once which external addresses it leaves out because they are reserved', async () => {
    const { api, clock, platform, proxy, end } = await setUp();
    await proxy.synced();
    const texts = (): unknown[] => platform.log.entries.filter(({ message }) => message.includes('not served'));
    const ports = [{ port: 53, protocol: 'UDP' }];
    const change = async (externalIPs: readonly string[]): Promise<void> => {
      api.seed(Services, service('dns', '10.43.0.6', { ports, externalIPs }));
      await clock.advance(1000);
    };
    await change(['10.43.0.10', '192.0.2.1']);
    await change(['10.43.0.10', '192.0.2.2']);
    assert.equal(texts().length, 1);
    await change(['192.0.2.2']);
    await change(['10.43.0.10']);
    assert.equal(texts().length, 2);
    await end();
  });

  it('reports once, by an event, that a service has too many external addresses', async () => {
    const { api, clock, proxy, scripts, events, end } = await setUp();
    await proxy.synced();
    const many = <T>(make: (index: number) => T): T[] => Array.from({ length: 400 }, (_, index) => make(index));
    const externalIPs = many((index) => `198.18.${index >> 8}.${index & 255}`);
    const ports = many((index) => ({ name: `p${index}`, port: index + 1 }));
    for (const affinity of ['None', 'ClientIP']) {
      api.seed(Services, service('wide', '10.43.0.6', { ports, externalIPs, sessionAffinity: affinity }));
      await clock.advance(1000);
    }
    assert.deepEqual(events, ['Warning ServiceTooLarge wide']);
    assert.ok(!scripts.join('').includes('198.18.'));
    assert.ok(scripts.join('').includes('10.43.0.6 . tcp . 1 '));
    await end();
  });

  it('writes the whole table first, then changes, one transaction per burst', async () => {
    const { api, clock, proxy, scripts, end } = await setUp();
    await proxy.synced();
    assert.equal(scripts.length, 1);
    assert.match(
      scripts[0] as string,
      /flush table ip kt[^]*add element ip kt services \{ 10\.43\.0\.5 \. tcp \. 80 : goto pick-1 \}/,
    );
    await clock.advance(20);
    for (let i = 0; i < 10; i++) api.seed(Services, service(`s${i}`, `10.43.1.${i}`));
    await clock.settle();
    assert.equal(scripts.length, 2);
    assert.doesNotMatch(scripts[1] as string, /flush table/);
    assert.equal(scripts[1]?.match(/10\.43\.1\.\d \. tcp \. 80 : goto refuse/g)?.length, 10);
    await end();
    assert.equal(scripts.length, 2);
  });

  it('rewrites every minute, and costs nothing in between', async () => {
    const { clock, scripts, end } = await setUp();
    await clock.advance(59_000);
    assert.equal(scripts.length, 1);
    await clock.advance(2_000);
    assert.equal(scripts.length, 2);
    assert.equal(scripts[1], scripts[0]);
    await end();
  });

  it('rewrites after a failure, from scratch after the second, and logs that', async () => {
    let failures = 2;
    const { platform, api, clock, proxy, scripts, end } = await setUp((script) =>
      script.includes('10.43.9.9') && failures-- > 0 ? { exitCode: 1, stderr: 'Error: no' } : {},
    );
    await clock.advance(20);
    api.seed(Services, service('odd', '10.43.9.9'));
    await clock.settle();
    assert.equal(proxy.healthy(), false);
    await clock.advance(5_000);
    assert.deepEqual(
      scripts.map((s) =>
        s.startsWith('add table ip kt\ndelete table') ? 'scratch' : s.includes('flush table') ? 'rewrite' : 'change',
      ),
      ['rewrite', 'change', 'rewrite', 'scratch'],
    );
    assert.equal(proxy.healthy(), true);
    assert.match(await platform.metrics.expose(), /nftables_sync_failures_total 2/);
    await end();
  });

  it('answers on the health check node port while the service has endpoints here', async () => {
    const { platform, api, clock, end } = await setUp();
    api.seed(
      Services,
      service('lb', '10.43.0.6', { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 32000 }),
    );
    await clock.advance(20);
    const ask = async (): Promise<{ status: number; body: string }> => {
      const { status, body } = await platform.net.http({ method: 'GET', url: 'http://127.0.0.1:32000/' });
      let text = '';
      for await (const chunk of body) text += Buffer.from(chunk).toString();
      return { status, body: text };
    };
    assert.equal((await ask()).status, 503);
    api.seed(EndpointSlices, slice('lb', ['10.42.0.7']));
    await clock.advance(20);
    const { status, body } = await ask();
    assert.equal(status, 200);
    assert.deepEqual(JSON.parse(body), {
      service: { namespace: 'ns', name: 'lb' },
      localEndpoints: 1,
      serviceProxyHealthy: true,
    });
    // It still serves while it terminates, but a load balancer shall send no more.
    const conditions = { ready: false, serving: true, terminating: true };
    api.modify<EndpointSlice>(EndpointSlices, 'ns/lb-1', (old) => ({
      ...old,
      endpoints: (old.endpoints ?? []).map((e) => ({ ...e, conditions })),
    }));
    await clock.advance(20);
    assert.equal((await ask()).status, 503);
    api.remove(Services, 'ns/lb');
    await clock.advance(20);
    await assert.rejects(ask(), { code: 'ECONNREFUSED' });
    await end();
  });

  it('node ports follow the addresses of the node, and stay while it is away', async () => {
    const { api, clock, scripts, end } = await setUp(undefined, { nodePortAddresses: ['primary'] });
    assert.match(scripts[0] as string, /ip daddr @nodeport-addresses meta l4proto \. th dport vmap @nodeports/);
    assert.doesNotMatch(scripts[0] as string, /add element ip kt nodeport-addresses/);
    const change = async (address: string): Promise<void> => {
      await clock.advance(20);
      const addresses = [{ type: 'InternalIP', address }];
      api.modify<Node>(Nodes, 'here', (node) => ({ ...node, status: { addresses } }));
      await clock.settle();
    };
    await change('192.0.2.1');
    assert.equal(scripts[1], 'add element ip kt nodeport-addresses { 192.0.2.1/32 }\n');
    await change('192.0.2.2');
    assert.equal(
      scripts[2],
      'delete element ip kt nodeport-addresses { 192.0.2.1/32 }\nadd element ip kt nodeport-addresses { 192.0.2.2/32 }\n',
    );
    api.remove(Nodes, 'here');
    await clock.advance(61_000);
    assert.match(scripts.at(-1) as string, /add element ip kt nodeport-addresses \{ 192\.0\.2\.2\/32 \}/);
    await end();
  });

  it('host ports of loopback addresses: routed before they are translated, masqueraded with an address of this node', async () => {
    const { api, clock, scripts, routed, end } = await setUp();
    assert.match(
      scripts[0] as string,
      /ct status dnat ip saddr 127\.0\.0\.0\/8 oifname != "lo" masquerade fully-random/,
    );
    assert.deepEqual(routed, []);
    await clock.advance(20);
    const ports = [{ containerPort: 80, hostPort: 8000, hostIP: '127.0.0.1' }];
    api.seed(Pods, {
      metadata: { namespace: 'ns', name: 'p' },
      spec: { nodeName: 'here', containers: [{ name: 'c', ports }] },
      status: { phase: 'Running', podIP: '10.42.0.9', podIPs: [{ ip: '10.42.0.9' }] },
    });
    await clock.settle();
    assert.deepEqual(routed, [1]);
    assert.match(scripts[1] as string, /hostaddresses \{ 127\.0\.0\.1 \. tcp \. 8000 : goto host-address-1 \}/);
    await end();
  });

  it('follows the API server: a service with its address as an external IP serves it no longer', async () => {
    const { api, clock, scripts, end } = await setUp();
    api.seed(
      Services,
      service('thief', '10.43.0.9', { externalIPs: ['192.0.2.1'], ports: [{ port: 6443 }, { port: 80 }] }),
    );
    await clock.advance(20);
    const refused = /192\.0\.2\.1 \. tcp \. 6443/;
    assert.match(scripts.at(-1) as string, refused);
    api.seed(EndpointSlices, {
      metadata: { namespace: 'default', name: 'kubernetes', labels: { 'kubernetes.io/service-name': 'kubernetes' } },
      addressType: 'IPv4',
      ports: [{ name: 'https', port: 6443, protocol: 'TCP' }],
      endpoints: [{ addresses: ['192.0.2.1'] }],
    });
    await clock.advance(20);
    assert.match(scripts.at(-1) as string, /delete element ip kt no-endpoints \{ 192\.0\.2\.1 \. tcp \. 6443 \}/);
    assert.doesNotMatch(scripts.at(-1) as string, /192\.0\.2\.1 \. tcp \. 80/);
    await end();
  });

  it('removes its table', async () => {
    const { proxy, scripts, end } = await setUp();
    await end();
    await proxy.remove();
    assert.equal(scripts.at(-1), 'add table ip kt\ndelete table ip kt\n');
  });
});
