/** Changes of pods that their nodes cannot follow: NodeDeclaredFeatureValidator and PodResizeValidator. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Pod, PodSpec, ResourceRequirements } from '../../api/gen/core-v1.ts';
import { Nodes, Pods } from '../../api/gen/resources.ts';
import { StatusError } from '../../api/status-error.ts';
import { createTestObjects } from '../authz/objects-fixture.ts';
import { createNodeDeclaredFeatureValidator } from './node-declared-features/node-declared-feature-validator.ts';
import { createPodResizeValidator } from './pod-resize/pod-resize-validator.ts';
import { admit } from './admission-fixture.ts';

const POD_LEVEL = 'InPlacePodLevelResourcesVerticalScaling';
const INIT = 'InPlacePodVerticalScalingInitContainers';
const amounts = (cpu: string, memory = '1Gi'): ResourceRequirements => ({ requests: { cpu, memory } });
const podOf = (spec: Partial<PodSpec>): Pod => ({
  metadata: { name: 'p', namespace: 'ns' },
  spec: { containers: [{ name: 'c', resources: amounts('1') }], nodeName: 'n', ...spec },
});
const linux = { 'kubernetes.io/os': 'linux' };

interface Row {
  readonly before: Partial<PodSpec>;
  readonly now: Partial<PodSpec>;
  readonly subresource?: string;
  readonly refused?: string;
}

describe('NodeDeclaredFeatureValidator', () => {
  const objects = createTestObjects();
  objects.put(Nodes, { metadata: { name: 'n' }, status: { declaredFeatures: [INIT] } }, { metadata: { name: 'old' } });
  const plugin = createNodeDeclaredFeatureValidator(() => objects.store);
  const init = (cpu: string): Partial<PodSpec> => ({ initContainers: [{ name: 'i', resources: amounts(cpu) }] });
  const rows: Record<string, Row> = {
    'what the node declares': { before: init('1'), now: init('2') },
    'what it does not': {
      before: { resources: amounts('1') },
      now: { resources: amounts('2') },
      refused: `pod update requires features ${POD_LEVEL} which are not available on node "n"`,
    },
    'two things an old node does not know of': {
      before: { nodeName: 'old', resources: amounts('1'), ...init('1') },
      now: { nodeName: 'old', resources: amounts('2'), ...init('2') },
      refused: `pod update requires features ${POD_LEVEL}, ${INIT} which are not available on node "old"`,
    },
    'a node that is not there': {
      before: { nodeName: 'gone', ...init('1') },
      now: { nodeName: 'gone', ...init('2') },
      refused: 'node "gone" not found',
    },
    'nothing special on a node that is not there': { before: { nodeName: 'gone' }, now: { nodeName: 'gone' } },
    'no node yet': {
      before: { nodeName: '', resources: amounts('1') },
      now: { nodeName: '', resources: amounts('2') },
    },
    'through the pod itself': {
      before: { resources: amounts('1') },
      now: { resources: amounts('2') },
      subresource: '',
      refused: `pod update requires features ${POD_LEVEL} which are not available on node "n"`,
    },
    'its status': { before: { resources: amounts('1') }, now: { resources: amounts('2') }, subresource: 'status' },
  };
  for (const [what, { before, now, subresource = 'resize', refused }] of Object.entries(rows))
    test(what, async () => {
      const request = { operation: 'UPDATE' as const, subresource, object: podOf(now), oldObject: podOf(before) };
      const admitted = admit(plugin, Pods, request);
      if (refused === undefined) await admitted;
      else await assert.rejects(admitted, { message: `pods "p" is forbidden: ${refused}` });
    });
});

describe('PodResizeValidator', () => {
  const objects = createTestObjects();
  const status = { allocatable: { cpu: '2', memory: '4Gi' } };
  objects.put(
    Nodes,
    { metadata: { name: 'n', labels: linux }, status },
    { metadata: { name: 'windows', labels: { 'kubernetes.io/os': 'windows' } }, status },
  );
  const plugin = createPodResizeValidator(() => objects.store);
  const one = (cpu: string, memory?: string): Partial<PodSpec> => ({
    containers: [{ name: 'c', resources: amounts(cpu, memory) }],
  });
  const rows: Record<string, Row & { readonly cause?: string }> = {
    'all that the node has': { before: one('1'), now: one('2') },
    'more than the node ever has': {
      before: one('1'),
      now: one('3', '5Gi'),
      refused:
        "Node didn't have enough allocatable resources: cpu, requested: 3000, allocatable: 2000; memory, requested: 5368709120, allocatable: 4294967296",
      cause: 'NodeCapacity',
    },
    'no change, though it is more than the node has': { before: one('3'), now: one('3') },
    'a kubelet that cannot': {
      before: { nodeName: 'windows' },
      now: { nodeName: 'windows', ...one('2') },
      refused: 'pod resize is only supported on linux nodes, node "windows" is "windows"',
      cause: 'UnsupportedPlatform',
    },
    'a node that is not there': {
      before: { nodeName: 'gone' },
      now: { nodeName: 'gone', ...one('2') },
      refused: 'node "gone" not found',
    },
    'no node yet': { before: { nodeName: '' }, now: { nodeName: '', ...one('3') } },
    'the pod itself': { before: one('1'), now: one('3'), subresource: '' },
  };
  for (const [what, { before, now, subresource = 'resize', refused, cause }] of Object.entries(rows))
    test(what, async () => {
      const request = { operation: 'UPDATE' as const, subresource, object: podOf(now), oldObject: podOf(before) };
      const admitted = admit(plugin, Pods, request);
      if (refused === undefined) return admitted;
      await assert.rejects(admitted, (error) => {
        assert.ok(error instanceof StatusError);
        assert.equal(error.message, `pods "p" is forbidden: ${refused}`);
        assert.equal(error.status.details?.causes?.[0]?.reason, cause);
        return true;
      });
    });
});
