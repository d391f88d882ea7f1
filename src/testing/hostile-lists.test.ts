/** Lists of any length from clients, in which each item was compared with every other; these tests then did not end in time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EndpointSlice } from '../api/gen/discovery-v1.ts';
import type { ContainerStatus, Pod } from '../api/gen/core-v1.ts';
import { firstBy, firstByName } from '../base/first-by.ts';
import { allSteps } from '../base/steps.ts';
import { claimNamesOf, isServedByClaim } from '../component-helpers/resource-claims.ts';
import { anyHostPortsCollide } from '../component-helpers/host-ports.ts';
import { aggregateRules } from '../controllers/clusterrole-aggregation/clusterrole-aggregation-controller.ts';
import { addTopologyHints } from '../controllers/endpointslice/topology-hints.ts';
import { MAX_RECORDS } from '../dns/record-index.ts';
import { createZone } from '../dns/zone.ts';
import { sortByAffinity } from '../kubelet/device-manager/device-hints.ts';
import { containersReadyCondition } from '../kubelet/status/conditions.ts';
import { checkContainerStateTransition } from '../kubelet/status/merge.ts';
import { strategicDiff } from '../kubelet/status/status-patch.ts';
import { ServiceEndpoints } from '../proxy/endpoints.ts';
import { disjointRanges } from '../proxy/service-map.ts';

const COUNT = 30_000;
const numbered = <T>(make: (index: number) => T): T[] => Array.from({ length: COUNT }, (_, at) => make(at));

test('the first item of each key is found', () => {
  assert.deepEqual(
    [...firstBy(['a', 'ab', 'b'], ({ length }) => length)],
    [
      [1, 'a'],
      [2, 'ab'],
    ],
  );
  assert.equal(
    firstByName([
      { name: 'a', at: 0 },
      { name: 'a', at: 1 },
    ]).get('a')?.at,
    0,
  );
  assert.equal(firstByName(undefined).size, 0);
});

test('colliding host ports are found', () => {
  const ports = (ip: string, from: number) => numbered((at) => ({ ip, protocol: 'TCP', port: from + at }));
  assert.equal(anyHostPortsCollide(ports('1.1.1.1', 0), ports('1.1.1.1', COUNT)), false);
  assert.equal(anyHostPortsCollide(ports('1.1.1.1', 0), ports('1.1.1.2', 0)), false);
  assert.equal(anyHostPortsCollide(ports('1.1.1.1', 0), ports('1.1.1.1', COUNT - 1)), true);
  assert.equal(anyHostPortsCollide(ports('0.0.0.0', 0), ports('1.1.1.1', COUNT - 1)), true);
  assert.equal(anyHostPortsCollide(ports('1.1.1.1', 0), ports('0.0.0.0', COUNT - 1)), true);
});

test('claims of a pod, and resources that claims serve, are looked up', () => {
  const resourceClaims = numbered((at) => ({ name: `c${at}`, resourceClaimTemplateName: 't' }));
  const resourceClaimStatuses = numbered((at) => ({ name: `c${at}`, resourceClaimName: `made-${at}` }));
  const requestMappings = numbered((at) => ({ containerName: `c${at}`, resourceName: 'a.b/c', requestName: 'r' }));
  const status = { resourceClaimStatuses, extendedResourceClaimStatus: { resourceClaimName: 'x', requestMappings } };
  const pod = { metadata: { name: 'p' }, spec: { containers: [], resourceClaims }, status } as Pod;
  assert.equal(claimNamesOf(pod).length, COUNT + 1);
  assert.ok(resourceClaims.every(({ name }) => isServedByClaim(pod, 'a.b/c', name)));
  assert.equal(isServedByClaim(pod, 'a.b/c', 'other'), false);
});

test('rules of aggregated roles are merged', () => {
  const rules = numbered((at) => ({ verbs: ['get'], resources: [`r${at}`] }));
  const role = (name: string) => ({ metadata: { name, labels: { a: 'b' }, uid: name }, rules });
  const selectors = { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] };
  const aggregating = { metadata: { name: 'all' }, aggregationRule: selectors, rules: [] };
  assert.deepEqual(aggregateRules(aggregating as never, [role('x'), role('y')] as never), rules);
});

test('containers are matched with their statuses', () => {
  const containers = numbered((at) => ({ name: `c${at}`, image: 'i' }));
  const pod = { metadata: { name: 'p' }, spec: { containers, restartPolicy: 'Never' } } as Pod;
  const statuses = (state: ContainerStatus['state']) =>
    containers.map(({ name }) => ({ name, ready: true, restartCount: 0, image: 'i', imageID: '', state })).toReversed();
  const ended = statuses({ terminated: { exitCode: 0 } }) as ContainerStatus[];
  const running = statuses({ running: {} }) as ContainerStatus[];
  assert.equal(containersReadyCondition({ pod, statuses: running, phase: 'Running' }).status, 'True');
  assert.equal(
    checkContainerStateTransition(pod, { containerStatuses: ended }, { containerStatuses: ended }),
    undefined,
  );
  assert.match(
    checkContainerStateTransition(pod, { containerStatuses: ended }, { containerStatuses: running })!,
    /attempted illegal transition/,
  );
});

test('conditions of a status patch are merged', () => {
  const conditions = (status: string) => numbered((at) => ({ type: `t${at}`, status }));
  const patch = strategicDiff(
    { conditions: conditions('True') },
    { conditions: conditions('False').toReversed() },
    { conditions: 'type' },
  );
  assert.equal((patch['conditions'] as object[]).length, COUNT);
});

test('devices are grouped by node', () => {
  const devices = new Map(numbered((at) => [`d${at}`, { topology: { nodes: [{ ID: at % 2 }] } }]));
  const { aligned, unaligned } = sortByAffinity(devices as never, devices.keys(), 1);
  assert.deepEqual([aligned.length, unaligned.length], [COUNT / 2, COUNT / 2]);
});

test('names of one address are collected', () => {
  const zone = createZone('cluster.local');
  const endpoints = numbered((at) => ({ addresses: ['10.0.0.1'], hostname: `h${at}`, conditions: { ready: true } }));
  const labels = { 'kubernetes.io/service-name': 's' };
  const slice = (from: number): EndpointSlice => ({
    metadata: { name: 'x', namespace: 'n', labels },
    addressType: 'IPv4',
    endpoints: endpoints.slice(from),
    ports: [{ port: 80, name: '', protocol: 'TCP' }],
  });
  const service = {
    metadata: { name: 's', namespace: 'n' },
    spec: { clusterIP: 'None', clusterIPs: ['None'], ports: [] },
  };
  zone.setService(service as never);
  zone.setSlice(slice(0) as never);
  allSteps(zone.takeChanges());
  assert.equal(zone.reverse('10.0.0.1').length, Math.min(COUNT, MAX_RECORDS));
  zone.setSlice(slice(COUNT - 1) as never);
  allSteps(zone.takeChanges());
  assert.equal(zone.reverse('10.0.0.1').length, 1);
});

test('ports of a service are matched with those of its slices', () => {
  const ports = numbered((at) => ({ name: `p${at}`, port: at + 1, protocol: 'TCP' }));
  const slice = { addressType: 'IPv4', endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready: true } }], ports };
  const view = { node: { name: 'n', zone: undefined }, family: 4 } as const;
  const endpoints = allSteps(ServiceEndpoints.of([slice as never], view));
  const found = ports.map((port) => endpoints.ofPort(port as never).cluster[0]?.port);
  assert.deepEqual(
    found,
    ports.map(({ port }) => port),
  );
});

test('ranges inside others are found', () => {
  const address = (at: number): string => `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`;
  const single = numbered((at) => `${address(at)}/32`);
  assert.equal(disjointRanges(single, 4).length, COUNT);
  assert.deepEqual(disjointRanges([...single, '10.0.0.0/8', '11.0.0.0/16', '10.0.0.0/8', '11.0.1.0/24'], 4), [
    '10.0.0.0/8',
    '11.0.0.0/16',
  ]);
});

test('endpoints of a zone are gathered', () => {
  const count = 10 * COUNT;
  const endpoints = Array.from({ length: count }, (_, at) => ({
    addresses: ['10.0.0.1'],
    zone: `z${at % 2}`,
    conditions: { ready: true },
  }));
  const shares = new Map([
    ['z0', 0.5],
    ['z1', 0.5],
  ]);
  assert.equal(addTopologyHints([{ endpoints }], shares).enabled, true);
});
