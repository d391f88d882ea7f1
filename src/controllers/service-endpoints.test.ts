import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Endpoints as EndpointsObject, Pod, Service } from '../api/gen/core-v1.ts';
import { Endpoints, Nodes, Pods, Services } from '../api/gen/resources.ts';
import { forbidden } from '../api/status-error.ts';
import { startHarness } from './controllers-fixture.ts';
import { createEndpointsController } from './endpoint/endpoints-controller.ts';
import { pod, service, slices, start } from './service-endpoints-fixture.ts';

describe('endpointslice and endpoints', () => {
  it('list the pods with their conditions, ports, node and zone', async () => {
    const h = start();
    h.api.seed(Nodes, { metadata: { name: 'n1', labels: { 'topology.kubernetes.io/zone': 'z1' } } });
    h.api.seed(Services, service());
    h.api.seed(Pods, pod(1));
    h.api.seed(Pods, pod(2, { ready: false }));
    h.api.seed(Pods, pod(3, { deleting: true }));
    h.api.seed(Pods, pod(4, { phase: 'Succeeded' }));
    await h.clock.advance(100);
    const [slice] = slices(h);
    assert.equal(slices(h).length, 1);
    assert.deepEqual(slice?.metadata.labels, {
      team: 'a',
      'kubernetes.io/service-name': 'web',
      'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
    });
    assert.deepEqual(slice?.ports, [{ name: 'http', port: 8080, protocol: 'TCP' }]);
    assert.deepEqual(
      slice?.endpoints?.map((e) => [
        e.addresses[0],
        e.conditions?.ready,
        e.conditions?.serving,
        e.conditions?.terminating,
        e.zone,
        e.nodeName,
      ]),
      [
        ['10.42.0.1', true, true, false, 'z1', 'n1'],
        ['10.42.0.2', false, false, false, 'z1', 'n1'],
        ['10.42.0.3', false, true, true, 'z1', 'n1'],
      ],
    );
    const [endpoints] = h.api.objects(Endpoints);
    assert.deepEqual(
      endpoints?.subsets?.map((s) => [
        s.addresses?.map((a) => a.ip),
        s.notReadyAddresses?.map((a) => a.ip),
        s.ports?.[0]?.port,
      ]),
      [[['10.42.0.1'], ['10.42.0.2'], 8080]],
    );
    await h.stop();
  });

  for (const [count, isTogether] of [
    [20, false],
    [300, true],
  ] as const)
    it(`of ${count} pods, changes one after another are written ${isTogether ? 'together' : 'at once'}`, async () => {
      const h = start();
      h.api.seed(Services, service());
      for (let index = 0; index < count; index++) h.api.seed(Pods, pod(index, { ready: false }));
      await h.clock.advance(1_000);
      const unready = (): number[] => [
        h.api.objects(Endpoints)[0]?.subsets?.[0]?.notReadyAddresses?.length ?? 0,
        slices(h).reduce(
          (sum, { endpoints = [] }) => sum + endpoints.filter((e) => e.conditions?.ready !== true).length,
          0,
        ),
      ];
      assert.deepEqual(unready(), [count, count]);
      const seen: number[][] = [];
      for (let index = 0; index < 10; index++) {
        h.api.modify<Pod>(Pods, `default/web-${index}`, () => pod(index));
        await h.clock.advance(1);
        seen.push(unready());
      }
      const left = Array.from({ length: 10 }, (_, index) => (isTogether ? count : count - 1 - index));
      assert.deepEqual(
        seen,
        left.map((number) => [number, number]),
      );
      await h.clock.advance(50);
      assert.deepEqual(unready(), [count - 10, count - 10]);
      await h.stop();
    });

  for (const [trafficDistribution, hints] of [
    [undefined, [undefined, undefined]],
    ['PreferClose', [{ forZones: [{ name: 'z1' }] }, undefined]],
    ['PreferSameZone', [{ forZones: [{ name: 'z1' }] }, undefined]],
    ['PreferSameNode', [{ forZones: [{ name: 'z1' }], forNodes: [{ name: 'n1' }] }, { forNodes: [{ name: 'n2' }] }]],
  ] as const)
    it(`have topology hints for trafficDistribution ${trafficDistribution ?? 'unset'}, and when it changes`, async () => {
      const h = start();
      h.api.seed(Nodes, { metadata: { name: 'n1', labels: { 'topology.kubernetes.io/zone': 'z1' } } });
      h.api.seed(Nodes, { metadata: { name: 'n2' } });
      h.api.seed(Services, service());
      h.api.seed(Pods, pod(1));
      h.api.seed(Pods, pod(2, { node: 'n2' }));
      h.api.seed(Pods, pod(3, { ready: false }));
      await h.clock.advance(100);
      h.api.modify<Service>(Services, 'default/web', (old) => ({
        ...old,
        spec: { ...old.spec, ...(trafficDistribution === undefined ? {} : { trafficDistribution }) },
      }));
      await h.clock.advance(2_000);
      assert.deepEqual(
        slices(h)[0]
          ?.endpoints?.toSorted((a, b) => (a.addresses[0]! < b.addresses[0]! ? -1 : 1))
          .map((e) => e.hints),
        [...hints, undefined],
        'those that are not ready have none',
      );
    });

  it('write nothing more once settled', async () => {
    const h = start();
    h.api.seed(Services, service());
    for (let i = 1; i < 20; i++) h.api.seed(Pods, pod(i));
    await h.clock.advance(1000);
    const writes = () => h.api.requests.filter((r) => r.method !== 'GET').length;
    const before = writes();
    h.api.modify<Pod>(Pods, 'default/web-1', (old) => ({
      ...old,
      metadata: { ...old.metadata, annotations: { x: '1' } },
    }));
    await h.clock.advance(3_600_000);
    assert.equal(writes(), before);
    await h.stop();
  });

  it('count the current endpoints: fewer without an address type, none without a selector', async () => {
    const h = start();
    h.api.seed(Services, service({ ipFamilies: ['IPv4', 'IPv6'] }));
    h.api.seed(Pods, pod(1));
    await h.clock.advance(1000);
    const sliceCount = () => h.metrics.value('endpoint_slice_controller_num_endpoint_slices');
    assert.equal(sliceCount(), 2);
    const setSpec = (spec: Partial<NonNullable<Service['spec']>>) =>
      h.api.modify<Service>(Services, 'default/web', (old) => ({ ...old, spec: { ...old.spec, ...spec } }));
    setSpec({ ipFamilies: ['IPv4'] });
    await h.clock.advance(1000);
    assert.equal(sliceCount(), 1);
    setSpec({ selector: {} });
    await h.clock.advance(1000);
    assert.equal(sliceCount(), 0);
    await h.stop();
  });

  it('count services by their trafficDistribution, and the writes of syncs', async () => {
    const h = start();
    const distributing = (name: string, trafficDistribution: string): Service => {
      const one = service({ trafficDistribution });
      return { ...one, metadata: { ...one.metadata, name, uid: `uid-${name}` } };
    };
    const servicesWith = (trafficDistribution: string) =>
      h.metrics.value('endpoint_slice_controller_services_count_by_traffic_distribution', {
        traffic_distribution: trafficDistribution,
      });
    h.api.seed(Services, distributing('a', 'PreferSameZone'));
    h.api.seed(Services, distributing('b', 'PreferSameZone'));
    h.api.seed(Services, distributing('c', 'PreferSameNode'));
    await h.clock.advance(1000);
    assert.deepEqual([servicesWith('PreferSameZone'), servicesWith('PreferSameNode')], [2, 1]);
    const written = { topology: 'Disabled', traffic_distribution: 'PreferSameNode' };
    assert.equal(h.metrics.sum('endpoint_slice_controller_endpointslices_changed_per_sync', written), 1);
    h.api.modify<Service>(Services, 'default/b', (old) => distributing(old.metadata.name!, 'PreferSameNode'));
    h.api.remove(Services, 'default/c');
    await h.clock.advance(1000);
    assert.deepEqual([servicesWith('PreferSameZone'), servicesWith('PreferSameNode')], [1, 1]);
    assert.ok(h.metrics.value('endpoint_slice_controller_syncs', { result: 'success' })! > 0);
    await h.stop();
  });

  it('made by hand go with their service; without one they are left alone', async () => {
    const h = start();
    const byHand = (name: string) => ({
      metadata: { namespace: 'default', name },
      subsets: [{ addresses: [{ ip: '192.0.2.1' }], ports: [{ port: 80 }] }],
    });
    const { selector: _, ...spec } = service().spec!;
    h.api.seed(Services, { metadata: { namespace: 'default', name: 'served' }, spec });
    for (const name of ['served', 'alone']) h.api.seed(Endpoints, byHand(name));
    h.api.seed(Services, service());
    await h.clock.advance(1000);
    const names = () => h.api.objects(Endpoints).map(({ metadata }) => metadata.name);
    assert.deepEqual(names(), ['served', 'alone', 'web']);
    h.api.remove(Services, 'default/served');
    h.api.remove(Services, 'default/web');
    await h.clock.advance(1000);
    assert.deepEqual(names(), ['alone']);
    h.api.seed(Endpoints, byHand('served'));
    await h.clock.advance(1000);
    assert.deepEqual(names(), ['alone', 'served'], 'made anew it is nobody’s');
    await h.stop();
  });

  it('that could not be deleted with their service are ignored after the last retry', async () => {
    let refuses = true;
    const h = startHarness([createEndpointsController], {
      before(api) {
        const { handler } = api;
        Object.assign(api, {
          handler: ((request) => {
            if (refuses && request.method === 'DELETE') throw forbidden(Endpoints, 'served', 'not now');
            return handler(request);
          }) satisfies typeof handler,
        });
      },
    });
    const { selector: _, ...spec } = service().spec!;
    h.api.seed(Services, { metadata: { namespace: 'default', name: 'served' }, spec });
    h.api.seed(Endpoints, { metadata: { namespace: 'default', name: 'served' } });
    await h.clock.advance(1000);
    h.api.remove(Services, 'default/served');
    const givenUp = () => h.log.entries.some(({ message }) => message === 'dropping key out of the queue');
    await h.clock.runUntil(givenUp, 3_600_000);
    refuses = false;
    h.api.modify<EndpointsObject>(Endpoints, 'default/served', (old) => ({
      ...old,
      subsets: [{ addresses: [{ ip: '192.0.2.1' }], ports: [{ port: 80 }] }],
    }));
    await h.clock.advance(1000);
    assert.equal(h.api.objects(Endpoints).length, 1);
    await h.stop();
  });
});
