import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Endpoints, EndpointSlices, Services } from '../../api/gen/resources.ts';
import type { Endpoints as EndpointsObject, Service } from '../../api/gen/core-v1.ts';
import { createEndpointSliceMirroringController } from './endpointslice-mirroring-controller.ts';
import { startServerHarness, type ServerHarness } from '../server-harness-fixture.ts';

async function start(endpoints: object = {}, service: object = {}): Promise<ServerHarness> {
  const h = await startServerHarness([createEndpointSliceMirroringController]);
  await h.create(Services, { metadata: { name: 'db' }, spec: { ports: [{ port: 5432 }], ...service } });
  const subsets = [
    {
      addresses: [{ ip: '192.0.2.1' }, { ip: '2001:db8::1' }],
      notReadyAddresses: [{ ip: '192.0.2.2' }],
      ports: [{ name: '', port: 5432 }],
    },
  ];
  await h.create(Endpoints, { metadata: { name: 'db', labels: { team: 'x' } }, subsets, ...endpoints });
  await h.clock.advance(1000);
  return h;
}
const mirrors = async (h: ServerHarness) =>
  (await h.list(EndpointSlices)).filter((slice) => slice.metadata.name !== 'kubernetes');
const content = async (h: ServerHarness) =>
  (await mirrors(h))
    .map((slice) => [
      slice.addressType,
      slice.ports?.[0]?.port,
      slice.endpoints?.map((e) => `${e.addresses[0]} ${e.conditions?.ready}`),
    ])
    .sort();

describe('endpoint slice mirroring', () => {
  it('mirrors manual Endpoints by address family, and their changes', async () => {
    const h = await start();
    assert.deepEqual(await content(h), [
      ['IPv4', 5432, ['192.0.2.1 true', '192.0.2.2 false']],
      ['IPv6', 5432, ['2001:db8::1 true']],
    ]);
    const [slice] = await mirrors(h);
    assert.deepEqual(slice?.metadata.labels, {
      team: 'x',
      'kubernetes.io/service-name': 'db',
      'endpointslice.kubernetes.io/managed-by': 'endpointslicemirroring-controller.k8s.io',
    });
    assert.deepEqual(
      [slice?.metadata.ownerReferences?.[0]?.kind, slice?.metadata.ownerReferences?.[0]?.name],
      ['Endpoints', 'db'],
    );
    await h.update<EndpointsObject>(
      Endpoints,
      'default/db',
      (draft) => void (draft.subsets = [{ addresses: [{ ip: '192.0.2.9' }], ports: [{ name: '', port: 5432 }] }]),
    );
    await h.clock.advance(1000);
    assert.deepEqual(await content(h), [['IPv4', 5432, ['192.0.2.9 true']]]);
    const sums = async (): Promise<Record<string, string>> =>
      Object.fromEntries(
        [
          ...(await h.metrics.expose()).matchAll(/^endpoint_slice_mirroring_controller_(\w+)_per_sync_sum (\d+)$/gm),
        ].map(([, name, sum]) => [name, sum]),
      );
    assert.deepEqual(await sums(), {
      addresses_skipped: '0',
      endpoints_added: '4',
      endpoints_removed: '3',
      endpoints_updated: '0',
    });
    await h.update<EndpointsObject>(
      Endpoints,
      'default/db',
      (draft) =>
        void (draft.subsets = [{ notReadyAddresses: [{ ip: '192.0.2.9' }], ports: [{ name: '', port: 5432 }] }]),
    );
    await h.clock.advance(1000);
    assert.deepEqual((await sums())['endpoints_updated'], '1', 'it is not ready any more');
    const before = h.writes();
    await h.clock.advance(3_600_000);
    assert.equal(h.writes(), before, 'writes nothing more once settled');
    await h.remove(Endpoints, 'default/db');
    await h.clock.advance(1000);
    assert.deepEqual(await content(h), []);
    await h.stop();
  });

  it('puts the ports of the same addresses into one slice, of others into others', async () => {
    const subset = (ip: string, port: number): object => ({ addresses: [{ ip }], ports: [{ name: `p${port}`, port }] });
    const both = { addresses: [{ ip: '192.0.2.3' }], notReadyAddresses: [{ ip: '192.0.2.4' }] };
    const again = { addresses: [{ ip: '192.0.2.4' }], ports: [{ name: 'p4', port: 4 }] };
    const h = await start({
      subsets: [
        ...[subset('192.0.2.1', 1), subset('192.0.2.2', 2), subset('192.0.2.1', 3)],
        ...[{ ...both, ports: again.ports }, again],
      ],
    });
    assert.deepEqual(
      (await mirrors(h))
        .map(({ ports, endpoints }) => [
          ports?.map(({ port }) => port),
          endpoints?.map(({ addresses, conditions }) => `${addresses[0]} ${conditions?.ready}`),
        ])
        .sort(),
      [
        [[1, 3], ['192.0.2.1 true']],
        [[2], ['192.0.2.2 true']],
        [[4], ['192.0.2.3 true', '192.0.2.4 false']],
      ],
    );
    await h.stop();
  });

  const skipped: [what: string, endpoints: object, service: object][] = [
    ['of services with a selector', {}, { selector: { a: 'b' } }],
    ['that say so', { metadata: { name: 'db', labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } } }, {}],
    [
      'of leader elections',
      { metadata: { name: 'db', annotations: { 'control-plane.alpha.kubernetes.io/leader': '{}' } } },
      {},
    ],
  ];
  for (const [what, endpoints, service] of skipped) {
    it(`leaves endpoints alone ${what}`, async () => {
      const h = await start(endpoints, service);
      assert.deepEqual(await content(h), []);
      await h.stop();
    });
  }

  it('stops when the service gets a selector', async () => {
    const h = await start();
    await h.update<Service>(Services, 'default/db', (draft) => void (draft.spec!.selector = { a: 'b' }));
    await h.clock.advance(1000);
    assert.deepEqual(await content(h), []);
    await h.stop();
  });
});
