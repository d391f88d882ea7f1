/** A start without routes removes what earlier starts have published, and nothing of other controllers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { IngressClasses, Ingresses, Nodes } from '../../api/gen/resources.ts';
import { createTestObjects } from '../../apiserver/authz/objects-fixture.ts';
import { gatewayIngressClass } from '../../component-helpers/gateway-class.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { withdrawRoutes } from './withdraw-routes.ts';

const ADDRESSES = { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } };

function world() {
  const platform = createSimPlatform();
  const objects = createTestObjects();
  objects.put(IngressClasses, gatewayIngressClass());
  objects.put(IngressClasses, { metadata: { name: 'nginx' }, spec: { controller: 'k8s.io/ingress-nginx' } });
  for (const [name, ingressClassName] of [
    ['ours', 'keelson'],
    ['other', 'nginx'],
    ['none', undefined],
  ] as const)
    objects.put(Ingresses, {
      metadata: { name, namespace: 'ns' },
      spec: { ingressClassName },
      status: ADDRESSES,
    } as never);
  const annotations = { 'keelson.dev/gateway-ports': '80,443', mine: '1' };
  objects.put(Nodes, { metadata: { name: 'n', annotations } });
  const written: unknown[] = [];
  let failures = 0;
  let refused: string | undefined;
  const patch = (key: { name: string }, { patch: { status } }: { patch: { status: object } }): Promise<void> => {
    if (failures-- > 0 || key.name === refused) return Promise.reject(new Error('later'));
    written.push([key, status]);
    return Promise.resolve();
  };
  const controlPlane = { server: { objects: objects.store }, clientFor: () => ({ resource: () => ({ patch }) }) };
  const withdraw = (signal = new AbortController().signal) =>
    withdrawRoutes({ platform, controlPlane: controlPlane as never }, signal);
  const fail = (count: number) => (failures = count);
  return { platform, objects, written, withdraw, fail, refuse: (name: string) => (refused = name) };
}

test('addresses of Ingresses of our classes and ports of Nodes are removed', async () => {
  const { objects, written, withdraw } = world();
  await withdraw();
  assert.deepEqual(written, [[{ namespace: 'ns', name: 'ours' }, { loadBalancer: { ingress: null } }]]);
  assert.deepEqual(objects.store.get(Nodes, '', 'n')?.metadata.annotations, { mine: '1' });
});

test('failed writes are repeated', async () => {
  const { platform, written, withdraw, fail } = world();
  fail(2);
  const done = withdraw();
  await platform.clock.advance(3000);
  await done;
  assert.equal(written.length, 1);
});

test('writes that are refused for good delay nothing else, and are repeated less and less often', async () => {
  const { platform, objects, written, withdraw, refuse } = world();
  objects.put(Ingresses, {
    metadata: { name: 'zz', namespace: 'ns' },
    spec: { ingressClassName: 'keelson' },
    status: ADDRESSES,
  } as never);
  refuse('ours');
  const controller = new AbortController();
  const done = withdraw(controller.signal);
  await platform.clock.advance(3_600_000);
  assert.deepEqual(objects.store.get(Nodes, '', 'n')?.metadata.annotations, { mine: '1' });
  const tries = written.length;
  assert.ok(tries > 10 && tries < 100, `${tries} times in an hour`);
  assert.deepEqual(written[0], [{ namespace: 'ns', name: 'zz' }, { loadBalancer: { ingress: null } }]);
  controller.abort();
  await done;
});
