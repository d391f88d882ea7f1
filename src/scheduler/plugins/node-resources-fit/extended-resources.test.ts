/** Resources of device classes are left to DynamicResources on nodes without a device plugin for them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Node } from '../../../api/gen/core-v1.ts';
import { stored } from '../../../api/stored-fixture.ts';
import type { Stored } from '../../../api/object.ts';
import { NodeInfo } from '../../cache/node-info.ts';
import { createSchedulerCache } from '../../cache/scheduler-cache.ts';
import type { SchedulerPlugin } from '../../framework/plugin.ts';
import { testNode, testPod } from '../../scheduler-fixture.ts';
import { deviceUseOf } from '../../devices/device-use.ts';
import { createNodeResourcesFit } from './node-resources-fit.ts';

const pod = testPod('p', {
  spec: { containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '1', 'example.com/gpu': '2' } } }] },
});
const pluginOf = (hasClass: boolean): SchedulerPlugin =>
  createNodeResourcesFit(undefined, {
    extendedResourceClass: () => (hasClass ? { metadata: { name: 'gpu' }, spec: {} } : undefined),
    deviceUse: () => deviceUseOf([]),
    resourceSlices: () => [],
  });
const nodeWith = (gpus: string, cpu = '4'): Stored<Node> => {
  const node = testNode('n', { cpu });
  return stored({
    ...node,
    status: { ...node.status, allocatable: { ...node.status?.allocatable, 'example.com/gpu': gpus } },
  });
};

describe('an extended resource', () => {
  const withPlugin = (count: string): NodeInfo => new NodeInfo(nodeWith(count));
  const cases: [what: string, hasClass: boolean, node: NodeInfo, reasons: string[] | undefined][] = [
    ['of no class is lacking', false, new NodeInfo(testNode('n')), ['Insufficient example.com/gpu']],
    ['of a class is left to devices', true, new NodeInfo(testNode('n')), undefined],
    ['of a class is left to devices where a plugin has none', true, withPlugin('0'), undefined],
    ['of a class is counted where a plugin has some', true, withPlugin('1'), ['Insufficient example.com/gpu']],
    ['of a class is counted where a plugin has enough', true, withPlugin('2'), undefined],
  ];
  for (const [what, hasClass, node, reasons] of cases)
    test(what, () => {
      const plugin = pluginOf(hasClass);
      const state = new Map<string, unknown>();
      plugin.preFilter?.(state, pod, createSchedulerCache().snapshot());
      assert.deepEqual(plugin.filter?.(state, pod, node)?.reasons, reasons);
    });
});

describe('a pod that waits for room, with an extended resource', () => {
  const cases: [what: string, hasClass: boolean, node: Node, old: Node | undefined, helps: boolean][] = [
    ['of a class: a new node without a plugin', true, testNode('n'), undefined, true],
    ['of a class: a new node whose plugin has none', true, nodeWith('0'), undefined, true],
    ['of a class: a new node whose plugin has too few', true, nodeWith('1'), undefined, false],
    ['of a class: a new node that is too small', true, testNode('n', { cpu: '500m' }), undefined, false],
    ['of no class: a new node without a plugin', false, testNode('n'), undefined, false],
    ['of a class: a node without a plugin grows', true, testNode('n'), testNode('n', { cpu: '500m' }), true],
    ['of no class: a node without a plugin grows', false, testNode('n'), testNode('n', { cpu: '500m' }), false],
    ['of a class: what a plugin had too few of is left to devices', true, nodeWith('0'), nodeWith('1'), true],
    ['of a class: the same on a node that is too small', true, nodeWith('0', '500m'), nodeWith('1', '500m'), false],
    ['of no class: a plugin loses what it had', false, nodeWith('0'), nodeWith('1'), false],
    ['of a class: a node grows in what is not wanted', true, testNode('n', { memory: '9Gi' }), testNode('n'), false],
    ['of a class: a plugin has enough now', true, nodeWith('2'), nodeWith('1'), true],
  ];
  for (const [what, hasClass, node, old, helps] of cases)
    test(`${what}: ${helps ? 'wakes' : 'does not wake'}`, () => {
      const event = old === undefined ? 'node/add' : 'node/update-allocatable';
      const entry = pluginOf(hasClass).events?.find((each) => each.event === event);
      assert.equal(entry?.hint?.(pod, old, node), helps);
    });
});
