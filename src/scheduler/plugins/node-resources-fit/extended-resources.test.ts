/** What device classes stand for is left to devices on nodes where no device plugin has it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { NodeInfo } from '../../cache/node-info.ts';
import { createSchedulerCache } from '../../cache/scheduler-cache.ts';
import { testNode, testPod } from '../../scheduler-fixture.ts';
import { createNodeResourcesFit } from './node-resources-fit.ts';

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
      const plugin = createNodeResourcesFit(undefined, () =>
        hasClass ? { metadata: { name: 'gpu' }, spec: {} } : undefined,
      );
      const state = new Map<string, unknown>();
      plugin.preFilter?.(state, pod, createSchedulerCache().snapshot());
      assert.deepEqual(plugin.filter?.(state, pod, node)?.reasons, reasons);
    });
});
