import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { DeviceClass, ResourceClaim } from '../../api/gen/resource-v1.ts';
import { createDeviceClaimEvaluator } from './device-claim-evaluator.ts';
import { podEvaluator } from './pod-evaluator.ts';

const classes: DeviceClass[] = [
  { metadata: { name: 'gpu' }, spec: { extendedResourceName: 'example.com/gpu' } },
  { metadata: { name: 'nic' }, spec: {} },
];
const IMPLICIT = 'deviceclass.resource.kubernetes.io';

/** A claim of two GPUs and a NIC, made for the extended resources of pod p. */
const claim = (name: string, created = '2026-01-01T00:00:00Z', more: object = {}): ResourceClaim => ({
  metadata: {
    name,
    namespace: 'ns',
    creationTimestamp: created,
    annotations: { 'resource.kubernetes.io/extended-resource-claim': 'true' },
    ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u', controller: true }],
    ...more,
  },
  spec: {
    devices: {
      requests: [
        { name: 'a', exactly: { deviceClassName: 'gpu', allocationMode: 'ExactCount', count: 2 } },
        { name: 'b', exactly: { deviceClassName: 'nic', allocationMode: 'ExactCount', count: 1 } },
      ],
    },
  },
});
const pod = (requests: Record<string, string>, status: Pod['status'] = {}, uid = 'u'): Pod => ({
  metadata: { name: 'p', namespace: 'ns', uid },
  spec: { containers: [{ name: 'c', image: 'i', resources: { requests } }] },
  status,
});
const named = (resourceClaimName: string): Pod['status'] => ({
  extendedResourceClaimStatus: { resourceClaimName, requestMappings: [] },
});

const all = {
  'requests.example.com/gpu': '2',
  [`requests.${IMPLICIT}/gpu`]: '2',
  [`requests.${IMPLICIT}/nic`]: '1',
};
const { 'requests.example.com/gpu': _, ...withoutGpu } = all;
for (const [what, given, expected, others = []] of [
  ['no pod', undefined, all],
  ['what the pod asks for by the resource', pod({ 'example.com/gpu': '2' }), withoutGpu],
  ['less than the claim', pod({ 'example.com/gpu': '1' }), { ...all, 'requests.example.com/gpu': '1' }],
  [
    'what it asks for by the classes',
    pod({ [`${IMPLICIT}/gpu`]: '2', [`${IMPLICIT}/nic`]: '1' }),
    { 'requests.example.com/gpu': '2' },
  ],
  ['a pod of the same name', pod({ 'example.com/gpu': '2' }, {}, 'another'), all],
  ['a pod that names this claim', pod({ 'example.com/gpu': '2' }, named('c')), withoutGpu],
  ['a pod that names another claim', pod({ 'example.com/gpu': '2' }, named('d')), all],
  ['a pod with an older claim', pod({ 'example.com/gpu': '2' }), all, [claim('d', '2025-01-01T00:00:00Z')]],
  ['a pod with an earlier one of the second', pod({ 'example.com/gpu': '2' }), all, [claim('a')]],
  ['a pod with a younger claim', pod({ 'example.com/gpu': '2' }), withoutGpu, [claim('a', '2027-01-01T00:00:00Z')]],
  [
    'a pod with a claim of its own beside it',
    pod({ 'example.com/gpu': '2' }),
    withoutGpu,
    [claim('a', '2025-01-01T00:00:00Z', { annotations: {} })],
  ],
] as const)
  test(`the usage of a claim for extended resources is reduced by: ${what}`, () => {
    const mine = claim('c');
    const evaluator = createDeviceClaimEvaluator({
      deviceClasses: () => classes,
      pod: () => given,
      resourceClaims: () => [...others, mine],
    });
    assert.deepEqual(evaluator.usage(mine, 0), {
      'count/resourceclaims.resource.k8s.io': '1',
      'gpu.deviceclass.resource.k8s.io/devices': '2',
      'nic.deviceclass.resource.k8s.io/devices': '1',
      ...expected,
    });
  });

test('names that claims and pods measure', () => {
  const evaluator = createDeviceClaimEvaluator({
    deviceClasses: () => classes,
    pod: () => undefined,
    resourceClaims: () => [],
  });
  for (const [name, byClaims, byPods] of [
    ['count/resourceclaims.resource.k8s.io', true, false],
    ['gpu.deviceclass.resource.k8s.io/devices', true, false],
    ['requests.example.com/gpu', true, true],
    ['requests.example.com/fpga', false, true],
    [`requests.${IMPLICIT}/nic`, true, true],
    [`requests.${IMPLICIT}/fpga`, false, true],
    ['requests.some.kubernetes.io/thing', false, false],
    ['example.com/gpu', false, false],
    ['requests.cpu', false, true],
  ] as const)
    assert.deepEqual([name, evaluator.measures(name), podEvaluator.measures(name)], [name, byClaims, byPods]);
});
