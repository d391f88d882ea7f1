/** Nodes where requests get preferred alternatives score higher. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeviceClass, ResourceClaim, ResourceSlice } from '../../../api/gen/resource-v1.ts';
import { NodeInfo } from '../../cache/node-info.ts';
import { createSchedulerCache } from '../../cache/scheduler-cache.ts';
import { createProfile, runPreFilter, runScores } from '../../framework/profile.ts';
import { testNode, testPluginDeps, testPod } from '../../scheduler-fixture.ts';
import { deviceUseOf } from '../../devices/device-use.ts';
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
    deviceUse: () => deviceUseOf([claim]),
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
