import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Service } from '../api/gen/core-v1.ts';
import { Endpoints, Nodes, Pods, Services } from '../api/gen/resources.ts';
import { pod, service, slices, start } from './service-endpoints-fixture.ts';

describe('the slices and subsets of a service', () => {
  it('put at most 100 endpoints in a slice and touch one slice for one change', async () => {
    const h = start();
    h.api.seed(Services, service());
    for (let i = 1; i <= 250; i++) h.api.seed(Pods, pod(i));
    await h.clock.advance(1000);
    assert.deepEqual(
      slices(h)
        .map((s) => s.endpoints?.length)
        .sort(),
      [100, 100, 50],
    );
    const before = new Map(slices(h).map((s) => [s.metadata.name, s.metadata.resourceVersion]));
    h.api.remove(Pods, 'default/web-3');
    h.api.seed(Pods, pod(300));
    await h.clock.advance(1000);
    assert.equal(
      slices(h).reduce((sum, s) => sum + (s.endpoints?.length ?? 0), 0),
      250,
    );
    assert.ok(slices(h).filter((s) => before.get(s.metadata.name) !== s.metadata.resourceVersion).length === 1);
    await h.stop();
  });

  it('are written as new slices rather than spread over several, and slices that would go are written again', async () => {
    const h = start();
    h.api.seed(Services, service());
    const seed = (from: number, to: number): void => {
      for (let index = from; index < to; index++) h.api.seed(Pods, pod(index));
    };
    const lengths = (): number[] => slices(h).map((s) => s.endpoints?.length ?? 0);
    seed(0, 160);
    await h.clock.advance(1000);
    assert.deepEqual(lengths().sort(), [100, 60]);
    const [first] = slices(h);
    for (const { targetRef } of first!.endpoints!.slice(0, 60)) h.api.remove(Pods, `default/${targetRef!.name}`);
    await h.clock.advance(1000);
    const before = new Map(slices(h).map((s) => [s.metadata.name, s.metadata.resourceVersion]));
    const room = lengths().map((length) => 100 - length);
    seed(300, 300 + Math.max(...room) + 5);
    await h.clock.advance(1000);
    assert.equal(slices(h).length, 3, 'no slice has room for all that is new');
    for (const { metadata } of slices(h))
      if (before.has(metadata.name)) assert.equal(metadata.resourceVersion, before.get(metadata.name));
    const names = slices(h).map(({ metadata }) => metadata.name);
    h.api.modify<Service>(Services, 'default/web', (old) => ({
      ...old,
      spec: { ...old.spec, ports: [{ name: 'http', port: 80, targetPort: 7000, protocol: 'TCP' }] },
    }));
    await h.clock.advance(1000);
    assert.ok(slices(h).every(({ metadata, ports }) => names.includes(metadata.name) && ports?.[0]?.port === 7000));
    await h.stop();
  });

  it('of an earlier service of the name are not adopted', async () => {
    const h = start();
    h.api.seed(Services, service());
    h.api.seed(Pods, pod(1));
    await h.clock.advance(100);
    const [old] = slices(h);
    h.api.remove(Services, 'default/web');
    h.api.seed(Services, service());
    await h.clock.advance(1000);
    const [slice] = slices(h);
    assert.notEqual(slice?.metadata.name, old?.metadata.name);
    const [{ metadata }] = h.api.objects(Services) as [Service];
    assert.equal(slice?.metadata.ownerReferences?.[0]?.uid, metadata.uid);
    assert.equal(slices(h).length, 1);
    await h.stop();
  });

  it('leave out pods on nodes that are not there, unless they publish whatever there is', async () => {
    const h = start();
    h.api.seed(Services, service());
    h.api.seed(Pods, pod(1));
    h.api.seed(Pods, pod(2, { node: 'late' }));
    await h.clock.advance(100);
    const listed = () => slices(h).flatMap((s) => (s.endpoints ?? []).map((e) => e.targetRef?.name));
    assert.deepEqual(listed(), ['web-1']);
    const said =
      'Warning FailedToUpdateEndpointSlices Error updating Endpoint Slices for Service default/web: skipping Pod web-2 for Service default/web: Node late Not Found';
    await h.clock.advance(1000);
    assert.ok(h.events().includes(said), h.events().join('\n'));
    h.api.modify<Service>(Services, 'default/web', (old) => ({
      ...old,
      spec: { ...old.spec, publishNotReadyAddresses: true },
    }));
    await h.clock.advance(1000);
    assert.deepEqual(listed().sort(), ['web-1', 'web-2']);
    h.api.modify<Service>(Services, 'default/web', (old) => ({
      ...old,
      spec: { ...old.spec, publishNotReadyAddresses: false },
    }));
    await h.clock.advance(1000);
    assert.deepEqual(listed(), ['web-1']);
    h.api.seed(Nodes, { metadata: { name: 'late' } });
    await h.clock.advance(10);
    assert.deepEqual(listed().sort(), ['web-1', 'web-2']);
    await h.stop();
  });

  it('have the time of the last change: at first the creation of the service, then the changes of its pods', async () => {
    const h = start();
    h.api.seed(Pods, pod(1));
    h.api.seed(Services, {
      ...service(),
      metadata: { ...service().metadata, creationTimestamp: '2026-01-02T00:00:00Z' },
    });
    await h.clock.advance(100);
    const told = () => slices(h)[0]?.metadata.annotations?.['endpoints.kubernetes.io/last-change-trigger-time'];
    assert.equal(told(), '2026-01-02T00:00:00Z');
    h.api.seed(Pods, pod(2));
    await h.clock.advance(1000);
    assert.equal(told(), '2026-01-01T00:00:05Z');
    await h.stop();
  });

  it('keep pods with different target ports apart', async () => {
    const h = start();
    h.api.seed(Services, service());
    h.api.seed(Pods, pod(1));
    h.api.seed(Pods, pod(2, { port: 9090 }));
    await h.clock.advance(100);
    assert.deepEqual(
      slices(h)
        .map((s) => s.ports?.[0]?.port)
        .sort(),
      [8080, 9090],
    );
    await h.stop();
  });

  it('mark headless services, publish unready addresses on request, and keep one empty slice', async () => {
    const h = start();
    h.api.seed(Services, service({ clusterIP: 'None', publishNotReadyAddresses: true }));
    await h.clock.advance(100);
    assert.deepEqual(
      [
        slices(h).length,
        slices(h)[0]?.endpoints?.length,
        slices(h)[0]?.metadata.labels?.['service.kubernetes.io/headless'],
      ],
      [1, 0, ''],
    );
    h.api.seed(Pods, pod(1, { ready: false }));
    await h.clock.advance(100);
    assert.deepEqual(
      slices(h).map((s) => s.endpoints?.[0]?.conditions?.ready),
      [true],
    );
    assert.deepEqual(h.api.objects(Endpoints)[0]?.subsets?.[0]?.addresses?.length, 1);
    h.api.remove(Services, 'default/web');
    await h.clock.advance(100);
    assert.equal(h.api.objects(Endpoints).length, 0);
    await h.stop();
  });
});
