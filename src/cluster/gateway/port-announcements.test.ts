/** The ports that a Node records: those of the data plane's report and, before the first report, those of an earlier start. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node, Service } from '../../api/gen/core-v1.ts';
import { IngressClasses, Ingresses, Nodes } from '../../api/gen/resources.ts';
import { createTestObjects } from '../../apiserver/authz/objects-fixture.ts';
import { gatewayIngressClass } from '../../component-helpers/gateway-class.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { PortAnnouncements } from './port-announcements.ts';

const ANNOTATION = 'keelson.dev/gateway-ports';
const nodeWith = (ports?: string): Node => ({
  metadata: { name: 'n', annotations: ports === undefined ? {} : { [ANNOTATION]: ports } },
});

function start(node: Node, services: readonly Service[] = []) {
  const platform = createSimPlatform();
  const objects = createTestObjects();
  objects.put(Nodes, node);
  objects.put(IngressClasses, gatewayIngressClass());
  objects.put(Ingresses, {
    metadata: { name: 'web', namespace: 'ns', creationTimestamp: '2026-02-01T00:00:00Z' },
    spec: { ingressClassName: 'keelson' },
  } as never);
  const recorded = (): string | undefined => objects.store.get(Nodes, '', 'n')?.metadata.annotations?.[ANNOTATION];
  const controlPlane = { server: { objects: objects.store } };
  const warnings: string[] = [];
  const current = [...services];
  const announced = new PortAnnouncements(
    { platform, controlPlane: controlPlane as never },
    { nodeName: 'n', isOwn: true, ports: { http: 80, https: 443 } },
    { warn: (message) => void warnings.push(message), services: () => current, signal: new AbortController().signal },
  );
  return { platform, objects, announced, recorded, warnings, services: current };
}

const report = (...ports: number[]) => ({ applied: 1, listeners: ports.map((port) => ({ port })), problems: [] });
const balancer = (port: number): Service => ({
  metadata: { name: 'lb', namespace: 'tenant', creationTimestamp: '2026-03-01T00:00:00Z' },
  spec: { type: 'LoadBalancer', ports: [{ port }] },
  status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } },
});

test('the record of an earlier start stays until the data plane has reported, whatever services are created', async () => {
  const { platform, announced, recorded } = start(nodeWith('80,443'), [balancer(9000)]);
  announced.touch();
  await platform.clock.advance(5000);
  assert.equal(recorded(), '80,443');
  assert.deepEqual(announced.status(), []);
  announced.take(report(80));
  await platform.clock.advance(10);
  assert.equal(recorded(), '80');
  announced.take(undefined);
  await platform.clock.advance(10);
  assert.equal(recorded(), undefined, 'nothing is served any more');
});

test('a service that claims a port of routes later does not get it', async () => {
  const { platform, announced, recorded, warnings, services } = start(nodeWith());
  announced.take(report(80, 443));
  await platform.clock.advance(10);
  services.push(balancer(80));
  announced.touch();
  await platform.clock.advance(10);
  assert.equal(recorded(), '80,443');
  assert.deepEqual(warnings, []);
});

test('a service that had the port first keeps it', async () => {
  const { platform, announced, recorded, warnings } = start(nodeWith(), [balancer(80)]);
  announced.take(report(80, 443));
  await platform.clock.advance(10);
  assert.equal(recorded(), '443');
  assert.deepEqual(warnings, ['port 80 of routes belongs to service tenant/lb of type LoadBalancer']);
  assert.deepEqual(announced.status(), [{ name: 'gateway', healthy: false, message: warnings[0] }]);
});

test('a Node that registers again gets its record again', async () => {
  const { platform, objects, announced, recorded } = start(nodeWith());
  announced.take(report(80));
  await platform.clock.advance(10);
  objects.remove(Nodes, '', 'n');
  objects.put(Nodes, nodeWith());
  await platform.clock.advance(5000);
  assert.equal(recorded(), '80');
});

test('of reports that arrive together the last one counts', async () => {
  const { platform, announced, recorded } = start(nodeWith());
  for (const ports of [[80], [80, 443], [443]]) announced.take(report(...ports));
  await platform.clock.advance(10);
  assert.equal(recorded(), '443');
});

test('Gateways and services are walked once for all ports of a report', async () => {
  const services = Array.from({ length: 2_000 }, (_, at) => balancer(10_000 + at));
  const { platform, objects, announced, warnings } = start(nodeWith(), services);
  let lists = 0;
  const list = objects.store.list.bind(objects.store);
  objects.store.list = ((...kinds: Parameters<typeof list>) => {
    lists++;
    return list(...kinds);
  }) as typeof objects.store.list;
  announced.take(report(...Array.from({ length: 4_000 }, (_, at) => 10_000 + at)));
  await platform.clock.advance(10);
  assert.equal(warnings.length, 2_000);
  assert.ok(lists < 20, String(lists));
});
