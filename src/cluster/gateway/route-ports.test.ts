/**
 * Whether routes or a load balancer has a port, decided at a start from stored objects alone, before any informer or data plane
 * runs.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Service } from '../../api/gen/core-v1.ts';
import { IngressClasses, Ingresses, Nodes } from '../../api/gen/resources.ts';
import { createTestObjects } from '../../apiserver/authz/objects-fixture.ts';
import { gatewayIngressClass } from '../../component-helpers/gateway-class.ts';
import { GatewayClasses, Gateways } from '../../gateway/gateway-api/types.ts';
import { machinePorts } from './machine-ports.ts';
import { nodePortUser } from './route-ports.ts';

const [JANUARY, FEBRUARY, MARCH] = ['2026-01-01T00:00:00Z', '2026-02-01T00:00:00Z', '2026-03-01T00:00:00Z'];
const own = machinePorts({
  httpsPort: 6443,
  kubeletPort: 10_250,
  kubeletPlainPorts: [],
  etcdPorts: [],
  nodePorts: { first: 30_000, last: 32_767 },
});

const service = (creationTimestamp: string, addresses: readonly string[] = []): Service => ({
  metadata: { name: 'thief', namespace: 'tenant', creationTimestamp },
  spec: { type: 'LoadBalancer' },
  status: { loadBalancer: { ingress: addresses.map((ip) => ({ ip })) } },
});

interface Stored {
  /** Created in February. */
  readonly ingress?: 'keelson' | 'other';
  readonly gateway?: number;
  readonly recorded?: string;
}

function userOf({ ingress, gateway, recorded = '' }: Stored, one: Service, port: number, isServing = true) {
  const objects = createTestObjects();
  const annotations = { 'keelson.dev/gateway-ports': recorded };
  objects.put(Nodes, { metadata: { name: 'n', annotations } });
  objects.put(IngressClasses, gatewayIngressClass());
  objects.put(GatewayClasses, {
    metadata: { name: 'keelson' },
    spec: { controllerName: 'keelson.dev/gateway' },
  } as never);
  const metadata = { name: 'web', namespace: 'ns', creationTimestamp: FEBRUARY };
  if (ingress !== undefined) objects.put(Ingresses, { metadata, spec: { ingressClassName: ingress } } as never);
  if (gateway !== undefined)
    objects.put(Gateways, {
      metadata,
      spec: { gatewayClassName: 'keelson', listeners: [{ name: 'a', port: gateway, protocol: 'HTTP' }] },
    } as never);
  return nodePortUser(objects.store, { machinePorts: own, ports: isServing ? { http: 80, https: 443 } : undefined })(
    one,
    port,
  );
}

describe('the owner of a port', () => {
  const nodes = 'the nodes themselves';
  const cases: readonly (readonly [what: string, stored: Stored, service: Service, port: number, user?: string])[] = [
    ['to the API server', {}, service(JANUARY, ['192.0.2.1']), 6443, nodes],
    ['to a service where no route wants it', {}, service(MARCH), 80],
    ['to routes that are older than the service', { ingress: 'keelson' }, service(MARCH), 443, nodes],
    ['to the older service', { ingress: 'keelson' }, service(JANUARY), 80],
    ['to a service that has its addresses', { ingress: 'keelson' }, service(MARCH, ['192.0.2.1']), 80],
    ['to routes that have had it open', { ingress: 'keelson', recorded: '80,443' }, service(JANUARY), 80, nodes],
    [
      'to routes that have it open, though a service with addresses has come to name it',
      { ingress: 'keelson', recorded: '80,443' },
      service(JANUARY, ['192.0.2.1']),
      80,
      nodes,
    ],
    ['to a service where routes are of another class', { ingress: 'other' }, service(MARCH), 80],
    ['to an older Gateway', { gateway: 8080 }, service(MARCH), 8080, nodes],
    ['to a service beside a Gateway of another port', { gateway: 8080 }, service(MARCH), 80],
  ];
  for (const [what, stored, one, port, user] of cases) test(what, () => assert.equal(userOf(stored, one, port), user));

  test('is the service on a node that serves no routes, whatever it served before', () =>
    assert.equal(userOf({ ingress: 'keelson', recorded: '80' }, service(MARCH), 80, false), undefined));
});
