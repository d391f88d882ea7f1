/** The status of Gateways, routes and policies once this controller no longer serves them has no entry of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeApi } from '../../client/fake-api-fixture.ts';
import { createInProcessClient } from '../../client/in-process-transport.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import {
  BackendTlsPolicies,
  GatewayClasses,
  Gateways,
  GrpcRoutes,
  HttpRoutes,
  TlsRoutes,
  type Condition,
} from './types.ts';
import { withdrawGatewayStatus } from './withdraw-status.ts';

const OURS = 'keelson.dev/gateway';
const OTHER = 'example.com/other';
const condition = (type: string): Condition => ({
  type,
  status: 'True',
  reason: type,
  message: '',
  lastTransitionTime: 'then',
});
const parent = (controllerName: string) => ({
  parentRef: { name: 'g' },
  controllerName,
  conditions: [condition('Accepted')],
});

function world(kinds: Parameters<typeof createFakeApi>[2]) {
  const api = createFakeApi(() => '2026-01-01T00:00:00Z', 1, kinds);
  const clock = new VirtualClock();
  const principal = { name: 'keelson:gateway', groups: [] };
  const client = createInProcessClient({ handler: api.handler, clock, principal, userAgent: 'test' });
  const withdraw = () => withdrawGatewayStatus({ client, nowMs: clock.nowMs(), signal: new AbortController().signal });
  return { api, withdraw };
}

test('our entries are removed, and those of other controllers stay', async () => {
  const { api, withdraw } = world([GatewayClasses, Gateways, HttpRoutes, GrpcRoutes, TlsRoutes, BackendTlsPolicies]);
  for (const [name, controllerName] of [
    ['ours', OURS],
    ['other', OTHER],
  ] as const) {
    api.seed(GatewayClasses, {
      metadata: { name },
      spec: { controllerName },
      status: { conditions: [condition('Accepted')], supportedFeatures: [{ name: 'Gateway' }] },
    });
    api.seed(Gateways, {
      metadata: { name, namespace: 'ns' },
      spec: { gatewayClassName: name },
      status: {
        addresses: [{ type: 'IPAddress', value: '192.0.2.1' }],
        conditions: [condition('Accepted'), condition('Programmed')],
        listeners: [{ name: 'http', supportedKinds: [], attachedRoutes: 1, conditions: [] }],
      },
    });
  }
  const status = { parents: [parent(OURS), parent(OTHER)] };
  const metadata = { name: 'r', namespace: 'ns' };
  for (const info of [HttpRoutes, GrpcRoutes, TlsRoutes] as const)
    api.seed(info as typeof HttpRoutes, { metadata, spec: {}, status });
  const ancestors = [OURS, OTHER].map((controllerName) => ({ ancestorRef: { name: 'g' }, controllerName }));
  const spec = { targetRefs: [], validation: { hostname: 'h' } };
  api.seed(BackendTlsPolicies, { metadata, spec, status: { ancestors } });

  await withdraw();

  const [other, ours] = api
    .objects(Gateways)
    .toSorted((a, b) => (a.metadata.name! < b.metadata.name! ? 1 : -1))
    .reverse();
  assert.deepEqual(other?.status?.addresses?.length, 1);
  assert.deepEqual(ours?.status?.addresses ?? [], []);
  assert.deepEqual(ours?.status?.listeners ?? [], []);
  assert.deepEqual(
    ours?.status?.conditions?.map(({ type, status: is, reason }) => `${type}=${is} ${reason}`),
    ['Accepted=Unknown Pending', 'Programmed=Unknown Pending'],
  );
  const classes = new Map(api.objects(GatewayClasses).map((one) => [one.metadata.name, one.status]));
  assert.equal(classes.get('ours')?.conditions?.[0]?.status, 'Unknown');
  assert.equal(classes.get('ours')?.supportedFeatures, undefined);
  assert.equal(classes.get('other')?.supportedFeatures?.length, 1);
  const routes = [...api.objects(HttpRoutes), ...api.objects(GrpcRoutes), ...api.objects(TlsRoutes)];
  assert.deepEqual(
    routes.map((route) => route.status?.parents?.map(({ controllerName }) => controllerName)),
    [[OTHER], [OTHER], [OTHER]],
  );
  assert.deepEqual(
    api.objects(BackendTlsPolicies)[0]?.status?.ancestors?.map(({ controllerName }) => controllerName),
    [OTHER],
  );

  const writes = api.requests.filter(({ method }) => method === 'PATCH').length;
  await withdraw();
  assert.equal(api.requests.filter(({ method }) => method === 'PATCH').length, writes, 'nothing is written twice');
});

test('an object whose status is refused does not prevent the removal from others', async () => {
  const { api, withdraw } = world([GatewayClasses, Gateways, HttpRoutes]);
  const status = { conditions: [condition('Accepted')] };
  for (const name of ['a', 'b', 'c'])
    api.seed(GatewayClasses, { metadata: { name }, spec: { controllerName: OURS }, status });
  api.intercept = ({ method, path }) => {
    if (method === 'PATCH' && path.includes('/a/')) throw new Error('refused');
  };
  await assert.rejects(withdraw(), /refused/);
  assert.deepEqual(
    api.objects(GatewayClasses).map((one) => one.status?.conditions?.[0]?.status),
    ['True', 'Unknown', 'Unknown'],
  );
});

test('objects without an entry of a controller, and undefined kinds, are not changed', async () => {
  const { api, withdraw } = world([GatewayClasses, Gateways]);
  api.seed(GatewayClasses, { metadata: { name: 'ours' }, spec: { controllerName: OURS } });
  api.seed(Gateways, { metadata: { name: 'g', namespace: 'ns' }, spec: { gatewayClassName: 'ours' } });
  await withdraw();
  assert.deepEqual(
    api.requests.filter(({ method }) => method === 'PATCH'),
    [],
  );
});
