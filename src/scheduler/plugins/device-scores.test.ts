/** Scores by a resource of a device class, on nodes with devices and on those with a device plugin. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Node } from '../../api/gen/core-v1.ts';
import type { Device, DeviceClass, ResourceSlice } from '../../api/gen/resource-v1.ts';
import type { Stored } from '../../api/object.ts';
import { stored } from '../../api/stored-fixture.ts';
import { deviceUseOf } from '../devices/device-use.ts';
import { NodeInfo } from '../cache/node-info.ts';
import { createSchedulerCache } from '../cache/scheduler-cache.ts';
import { defaultArgs, type FitArgs } from '../config/plugin-args.ts';
import type { SchedulerPlugin } from '../framework/plugin.ts';
import { testNode, testPod } from '../scheduler-fixture.ts';
import { createBalancedAllocation } from './balanced-allocation/balanced-allocation.ts';
import { createNodeResourcesFit } from './node-resources-fit/node-resources-fit.ts';

const pod = testPod('p', {
  spec: { containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '1', 'example.com/gpu': '2' } } }] },
});
const nodeWith = (gpus: string): Stored<Node> => {
  const node = testNode('n');
  return stored({
    ...node,
    status: { ...node.status, allocatable: { ...node.status?.allocatable, 'example.com/gpu': gpus } },
  });
};

describe('scores by an extended resource', () => {
  const device = (name: string, model: string): Device => ({ name, attributes: { model: { string: model } } });
  const slice = (name: string, devices: Device[], place: Partial<ResourceSlice['spec']>): ResourceSlice => ({
    metadata: { name },
    spec: { driver: 'd', pool: { name, generation: 1, resourceSliceCount: 1 }, devices, ...place },
  });
  // Node n has four GPUs, one of which is allocated, and one of another model; other nodes have none.
  const lookups = {
    extendedResourceClass: (name: string): DeviceClass | undefined =>
      name === 'example.com/gpu'
        ? {
            metadata: { name: 'gpu' },
            spec: { selectors: [{ cel: { expression: "device.attributes['d'].model == 'a'" } }] },
          }
        : undefined,
    resourceSlices: () => [
      slice(
        'near',
        ['1', '2', '3', '4'].map((name) => device(name, 'a')),
        { nodeName: 'n' },
      ),
      slice('far', [device('1', 'a')], { nodeName: 'm' }),
      slice('shared', [device('1', 'b')], { allNodes: true }),
    ],
    deviceUse: () =>
      deviceUseOf([
        {
          metadata: { name: 'c', namespace: 'x' },
          spec: {},
          status: { allocation: { devices: { results: [{ request: 'r', driver: 'd', pool: 'near', device: '1' }] } } },
        },
      ]),
  };
  const resources = [{ name: 'example.com/gpu', weight: 1 }];
  const shape = [
    { utilization: 0, score: 0 },
    { utilization: 100, score: 10 },
  ];
  const scoreOf = (plugin: SchedulerPlugin, node: Stored<Node>): number | undefined => {
    const [state, info] = [new Map<string, unknown>(), new NodeInfo(node)];
    const scored = { nodes: [info], snapshot: createSchedulerCache().snapshot() };
    assert.equal(plugin.preScore?.(state, pod, scored), undefined);
    return plugin.score?.(state, pod, info);
  };
  const fit = (args: Partial<FitArgs>): SchedulerPlugin =>
    createNodeResourcesFit({ ...defaultArgs.fit, resources, ...args }, lookups);
  const balanced = createBalancedAllocation({ resources: [{ name: 'cpu', weight: 1 }, ...resources] }, lookups);
  const cases: [what: string, plugin: SchedulerPlugin, node: Stored<Node>, score: number][] = [
    ['the least allocated, in devices', fit({}), testNode('n'), 25],
    ['the most allocated, in devices', fit({ strategy: 'MostAllocated' }), testNode('n'), 75],
    ['a shape, in devices', fit({ strategy: 'RequestedToCapacityRatio', shape }), testNode('n'), 75],
    ['a node without devices enough', fit({}), testNode('m'), 0],
    ['a node without devices', fit({ strategy: 'MostAllocated' }), testNode('o'), 0],
    ['a device plugin counts', fit({}), nodeWith('8'), 75],
    // 0 and 25 % are in use, with the pod 25 % and 75 %: from 87 to 75 of balance.
    ['balance, in devices', balanced, testNode('n'), 69],
  ];
  for (const [what, plugin, node, score] of cases) test(what, () => assert.equal(scoreOf(plugin, node), score));
});
