/** Nodes where requests get what they would rather have score higher; what device classes stand for is left to devices. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DeviceClass, ResourceClaim, ResourceSlice } from '../../../api/gen/resource-v1.ts';
import { NodeInfo } from '../../cache/node-info.ts';
import { createSchedulerCache } from '../../cache/scheduler-cache.ts';
import { createProfile, runPreFilter, runScores } from '../../framework/profile.ts';
import { testNode, testPluginDeps, testPod } from '../../scheduler-fixture.ts';
import { createNodeResourcesFit } from '../node-resources-fit/node-resources-fit.ts';
import { createDynamicResources } from './dynamic-resources.ts';

const classOf = (name: string): DeviceClass => ({
  metadata: { name },
  spec: { selectors: [{ cel: { expression: `device.driver == "${name}"` } }] },
});
const slice = (driver: string, nodeName: string): ResourceSlice => ({
  metadata: { name: `${driver}-${nodeName}` },
  spec: {
    driver,
    nodeName,
    pool: { name: `${driver}-${nodeName}`, generation: 1, resourceSliceCount: 1 },
    devices: [{ name: 'd' }],
  },
});
const claim: ResourceClaim = {
  metadata: { name: 'c', namespace: 'default', uid: 'uid-c' },
  spec: {
    devices: {
      requests: [
        {
          name: 'r',
          firstAvailable: ['best', 'good', 'some'].map((name) => ({ name, deviceClassName: name })),
        },
      ],
    },
  },
};

test('the node with the first alternative scores highest, each next one an eighth less', () => {
  const deps = testPluginDeps({
    resourceClaim: () => claim,
    resourceClaims: () => [claim],
    deviceClass: classOf,
    resourceSlices: () => [slice('some', 'a'), slice('best', 'b'), slice('good', 'c'), slice('some', 'c')],
  });
  const plugin = createDynamicResources(deps);
  const profile = createProfile({ schedulerName: 's', plugins: [plugin], weights: { DynamicResources: 1 } });
  const nodes = ['a', 'b', 'c'].map((name) => new NodeInfo(testNode(name)));
  const pod = testPod('p', { spec: { resourceClaims: [{ name: 'r', resourceClaimName: 'c' }] } });
  const state = new Map<string, unknown>();
  const snapshot = createSchedulerCache().snapshot();
  runPreFilter(profile, state, { pod, snapshot });
  assert.deepEqual(
    nodes.map((node) => plugin.filter?.(state, pod, node)),
    [undefined, undefined, undefined],
  );
  assert.deepEqual([...runScores(profile, state, { pod, nodes, snapshot }).totals], [75, 100, 87]);
});

describe('an extended resource', () => {
  const pod = testPod('p', {
    spec: { containers: [{ name: 'c', image: 'i', resources: { requests: { 'example.com/gpu': '2' } } }] },
  });
  const withPlugin = (count: string): NodeInfo => {
    const node = testNode('n');
    const allocatable = { ...node.status?.allocatable, 'example.com/gpu': count };
    return new NodeInfo({ ...node, status: { ...node.status, allocatable } });
  };
  const cases: [what: string, hasClass: boolean, node: NodeInfo, reasons: string[] | undefined][] = [
    ['of no class is lacking', false, new NodeInfo(testNode('n')), ['Insufficient example.com/gpu']],
    ['of a class is left to devices', true, new NodeInfo(testNode('n')), undefined],
    ['of a class is left to devices where a plugin has none', true, withPlugin('0'), undefined],
    ['of a class is counted where a plugin has some', true, withPlugin('1'), ['Insufficient example.com/gpu']],
    ['of a class is counted where a plugin has enough', true, withPlugin('2'), undefined],
  ];
  for (const [what, hasClass, node, reasons] of cases)
    test(what, () => {
      const plugin = createNodeResourcesFit(undefined, () => (hasClass ? classOf('gpu') : undefined));
      const state = new Map<string, unknown>();
      plugin.preFilter?.(state, pod, createSchedulerCache().snapshot());
      assert.deepEqual(plugin.filter?.(state, pod, node)?.reasons, reasons);
    });
});
