import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EndpointSlices, Nodes, Services } from '../api/gen/resources.ts';
import type { Node, Service, ServiceSpec } from '../api/gen/core-v1.ts';
import { createInProcessClient } from '../client/in-process-transport.ts';
import { createInformerFactory } from '../client/informer-factory.ts';
import { createFakeApi } from '../client/fake-api-fixture.ts';
import { createSimPlatform } from '../platform/sim/sim-platform.ts';
import { allSteps } from '../base/steps.ts';
import { assignAddresses } from './load-balancer-addresses.ts';
import { createLoadBalancerController } from './load-balancer.ts';

const node = (name: string, addresses: Record<string, string>, ready = 'True'): Node => ({
  metadata: { name },
  status: {
    addresses: Object.entries(addresses).map(([type, address]) => ({ type, address })),
    conditions: [{ type: 'Ready', status: ready }],
  },
});
const balanced = (name: string, spec: Partial<ServiceSpec> = {}): Service => ({
  metadata: { namespace: 'default', name },
  spec: { type: 'LoadBalancer', ipFamilies: ['IPv4'], ports: [{ port: 80, protocol: 'TCP' }], ...spec },
});

async function run(seed: (api: ReturnType<typeof createFakeApi>) => void) {
  const platform = createSimPlatform();
  const { clock } = platform;
  const api = createFakeApi(() => '2026-01-01T00:00:00Z');
  seed(api);
  const client = createInProcessClient({
    handler: api.handler,
    clock,
    principal: { name: 'c', groups: [] },
    userAgent: 'test',
  });
  const informers = createInformerFactory({ client, clock, random: platform.random, log: platform.log });
  const events: string[] = [];
  const recorder = {
    event: (target: { metadata?: { name?: string } }, _type: string, reason: string, message: string) =>
      void events.push(`${target.metadata?.name} ${reason}: ${message}`),
  };
  const controller = createLoadBalancerController({
    client,
    informers,
    platform,
    recorder: recorder as never,
    portUser: () => (_service, port) => (port === 6443 ? 'the nodes themselves' : undefined),
  });
  const stop = new AbortController();
  informers.start(stop.signal);
  void controller.start(stop.signal);
  await clock.advance(1000);
  const addresses = (name: string): string =>
    (api.objects<Service>(Services).find((s) => s.metadata.name === name)?.status?.loadBalancer?.ingress ?? [])
      .map((i) => i.ip)
      .join(' ');
  return { api, clock, stop, events, addresses };
}

describe('load balancer addresses', () => {
  it('are those of ready nodes, external ones first', async () => {
    const { addresses, events, stop } = await run((api) => {
      api.seed(Nodes, node('a', { InternalIP: '10.0.0.1', ExternalIP: '198.51.100.1' }));
      api.seed(Nodes, node('b', { InternalIP: '10.0.0.2' }));
      api.seed(Nodes, node('c', { InternalIP: '10.0.0.3' }, 'Unknown'));
      api.seed(Services, balanced('web'));
      api.seed(Services, balanced('foreign', { loadBalancerClass: 'example.com/lb', ports: [{ port: 90 }] }));
    });
    assert.equal(addresses('web'), '10.0.0.2 198.51.100.1');
    assert.equal(addresses('foreign'), '');
    assert.deepEqual(events, [
      'web EnsuringLoadBalancer: Ensuring load balancer',
      'web EnsuredLoadBalancer: Ensured load balancer',
    ]);
    stop.abort();
  });

  it('belong to one service per port; the other waits and reports the reason', async () => {
    const { api, clock, addresses, events, stop } = await run((seeded) => {
      seeded.seed(Nodes, node('a', { InternalIP: '10.0.0.1' }));
      seeded.seed(Services, balanced('one'));
      seeded.seed(Services, balanced('two'));
      seeded.seed(Services, balanced('three', { ports: [{ port: 80, protocol: 'UDP' }] }));
    });
    assert.deepEqual(['one', 'two', 'three'].map(addresses), ['10.0.0.1', '', '10.0.0.1']);
    assert.deepEqual(
      events.filter((e) => e.startsWith('two')),
      [
        "two SyncLoadBalancerFailed: Error syncing load balancer: failed to ensure load balancer: port 80/TCP of the nodes' addresses is used by service default/one",
      ],
    );
    api.remove(Services, 'default/one');
    await clock.advance(1000);
    assert.equal(addresses('two'), '10.0.0.1');
    stop.abort();
  });

  it('never take a port of the nodes themselves', async () => {
    const { addresses, events, stop } = await run((api) => {
      api.seed(Nodes, node('a', { InternalIP: '10.0.0.1' }));
      api.seed(Services, balanced('greedy', { ports: [{ port: 80 }, { port: 6443, protocol: 'TCP' }] }));
    });
    assert.equal(addresses('greedy'), '');
    assert.match(
      events.join(),
      /SyncLoadBalancerFailed: .*port 6443\/TCP of the nodes' addresses is used by the nodes themselves/,
    );
    stop.abort();
  });

  it('follow the endpoints with external policy Local, and go when the type changes', async () => {
    const { api, clock, addresses, events, stop } = await run((seeded) => {
      seeded.seed(Nodes, node('a', { InternalIP: '10.0.0.1' }));
      seeded.seed(Nodes, node('b', { InternalIP: '10.0.0.2' }));
      seeded.seed(Services, balanced('web', { externalTrafficPolicy: 'Local' }));
      seeded.seed(EndpointSlices, {
        metadata: { namespace: 'default', name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
        addressType: 'IPv4',
        endpoints: [{ addresses: ['10.42.0.2'], nodeName: 'b' }],
      });
    });
    assert.equal(addresses('web'), '10.0.0.2');
    api.modify<Service>(Services, 'default/web', (s) => ({ ...s, spec: { ...s.spec, type: 'ClusterIP' } }));
    await clock.advance(1000);
    assert.equal(addresses('web'), '');
    assert.equal(events.at(-1), 'web DeletedLoadBalancer: Deleted load balancer');
    stop.abort();
  });
});

it('ports, nodes and services are not multiplied', () => {
  const count = 4000;
  const nodes = Array.from({ length: count }, (_, at) =>
    node(`n${at}`, { InternalIP: `198.18.${at >> 8}.${at & 255}` }),
  );
  const wide = (from: number) => Array.from({ length: count }, (_, at) => ({ port: from + at, protocol: 'TCP' }));
  const services = [
    balanced('a', { ports: wide(1) }),
    balanced('b', { ports: wide(count) }),
    balanced('c', { ports: wide(count + 1) }),
    balanced('d', { ports: wide(3 * count), externalTrafficPolicy: 'Local' }),
  ];
  const slice = { addressType: 'IPv4', endpoints: [{ addresses: ['10.42.0.1'], nodeName: 'n7' }] };
  const surroundings = { nodes, slicesOf: () => [slice as never], portUser: () => undefined };
  const assigned = allSteps(assignAddresses(services, surroundings));
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].map((name) => assigned.get(`default/${name}`)?.addresses.length),
    [count, 0, count, 1],
  );
  assert.equal(
    assigned.get('default/b')?.problem,
    `port ${count}/TCP of the nodes' addresses is used by service default/a`,
  );
});
