import assert from 'node:assert/strict';
import { it } from 'node:test';
import { EndpointSlices, Nodes, Pods, Services } from '../../api/gen/resources.ts';
import type { Node, Service } from '../../api/gen/core-v1.ts';
import { startHarness } from '../controllers-fixture.ts';
import { createEndpointSliceController } from './endpointslice-controller.ts';

const ZONE = 'topology.kubernetes.io/zone';

async function slicesOf(spec: Partial<NonNullable<Service['spec']>>) {
  const h = startHarness([createEndpointSliceController]);
  for (const [name, zone] of [
    ['n1', 'z1'],
    ['n2', 'z2'],
  ] as const)
    h.api.seed(Nodes, { metadata: { name, labels: { [ZONE]: zone } } });
  h.api.seed(Nodes, { metadata: { name: 'n3' } });
  h.api.seed(Services, {
    metadata: { namespace: 'default', name: 'web' },
    spec: { clusterIP: '10.43.0.7', ipFamilies: ['IPv4'], selector: { app: 'web' }, ports: [{ port: 80 }], ...spec },
  });
  for (const i of [1, 2, 3])
    h.api.seed(Pods, {
      metadata: { namespace: 'default', name: `p${i}`, labels: { app: 'web' } },
      spec: { nodeName: `n${i}`, containers: [] },
      status: {
        phase: 'Running',
        podIP: `10.42.0.${i}`,
        podIPs: [{ ip: `10.42.0.${i}` }, ...(i === 3 ? [] : [{ ip: `fd00::${i}` }])],
        conditions: [{ type: 'Ready', status: 'True' }],
      },
    });
  await h.clock.advance(100);
  const found = h.api.objects(EndpointSlices);
  await h.stop();
  return found;
}

const hints: readonly [wish: string | undefined, expected: unknown[]][] = [
  [undefined, [undefined, undefined, undefined]],
  ['PreferClose', [{ forZones: [{ name: 'z1' }] }, { forZones: [{ name: 'z2' }] }, undefined]],
  ['PreferSameZone', [{ forZones: [{ name: 'z1' }] }, { forZones: [{ name: 'z2' }] }, undefined]],
  [
    'PreferSameNode',
    [
      { forZones: [{ name: 'z1' }], forNodes: [{ name: 'n1' }] },
      { forZones: [{ name: 'z2' }], forNodes: [{ name: 'n2' }] },
      { forNodes: [{ name: 'n3' }] },
    ],
  ],
];
for (const [wish, expected] of hints)
  it(`trafficDistribution ${wish}: endpoints have hints`, async () => {
    const [slice] = await slicesOf(wish === undefined ? {} : { trafficDistribution: wish });
    assert.deepEqual(
      slice?.endpoints?.map((endpoint) => endpoint.hints),
      expected,
    );
  });

it('topology-mode Auto: endpoints have hints for zones by their CPUs, and an event reports when that ends', async () => {
  const h = startHarness([createEndpointSliceController]);
  const node = (name: string, ready: string): Node => ({
    metadata: { name, labels: { [ZONE]: name } },
    status: { allocatable: { cpu: '4' }, conditions: [{ type: 'Ready', status: ready }] },
  });
  for (const name of ['z1', 'z2']) h.api.seed(Nodes, node(name, 'True'));
  h.api.seed(Services, {
    metadata: { namespace: 'default', name: 'web', annotations: { 'service.kubernetes.io/topology-mode': 'Auto' } },
    spec: { clusterIP: '10.43.0.7', ipFamilies: ['IPv4'], selector: { app: 'web' }, ports: [{ port: 80 }] },
  });
  for (const i of [1, 2, 3, 4])
    h.api.seed(Pods, {
      metadata: { namespace: 'default', name: `p${i}`, labels: { app: 'web' } },
      spec: { nodeName: i === 4 ? 'z2' : 'z1', containers: [] },
      status: { phase: 'Running', podIPs: [{ ip: `10.42.0.${i}` }], conditions: [{ type: 'Ready', status: 'True' }] },
    });
  await h.clock.advance(100);
  const zones = () => h.api.objects(EndpointSlices)[0]?.endpoints?.map(({ hints: of }) => of?.forZones?.[0]?.name);
  assert.deepEqual(zones(), ['z1', 'z1', 'z2', 'z2']);
  h.api.modify<Node>(Nodes, 'z2', () => node('z2', 'False'));
  await h.clock.advance(100);
  assert.deepEqual(zones(), [undefined, undefined, undefined, undefined]);
  const given = 'Normal TopologyAwareHintsEnabled Topology Aware Hints has been enabled, addressType: IPv4';
  const insufficient =
    'Warning TopologyAwareHintsDisabled Insufficient Node information: allocatable CPU or zone not specified on one or more nodes, addressType: IPv4';
  assert.deepEqual(h.events(), [given, insufficient]);
  h.api.modify<Node>(Nodes, 'z2', () => node('z2', 'True'));
  await h.clock.advance(100);
  h.api.modify<Service>(Services, 'default/web', ({ metadata, ...rest }) => ({
    ...rest,
    metadata: { ...metadata, annotations: {} },
  }));
  await h.clock.advance(1000);
  assert.deepEqual(zones(), [undefined, undefined, undefined, undefined]);
  const ended = 'Warning TopologyAwareHintsDisabled Topology Aware Hints has been disabled, addressType: IPv4';
  assert.equal(h.events().at(-1), ended);
  await h.stop();
});

it('a service of both families has slices of both, each with the pods of that family', async () => {
  const found = await slicesOf({ ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'RequireDualStack' });
  assert.deepEqual(
    found.map(({ addressType, endpoints }) => [addressType, endpoints?.map(({ addresses }) => addresses[0])]).sort(),
    [
      ['IPv4', ['10.42.0.1', '10.42.0.2', '10.42.0.3']],
      ['IPv6', ['fd00::1', 'fd00::2']],
    ],
  );
});
