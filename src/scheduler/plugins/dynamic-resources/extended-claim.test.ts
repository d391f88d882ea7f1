/** What a pod's status says of the claim for its extended resources, once it is bound. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DeviceClasses, Nodes, Pods } from '../../../api/gen/resources.ts';
import { startScheduler } from '../../running-scheduler-fixture.ts';
import { testNode, testPod } from '../../scheduler-fixture.ts';

const gpu = 'example.com/gpu';
const requests = { cpu: '1', [gpu]: '1' };
const pod = testPod('p', { spec: { containers: [{ name: 'c', image: 'i', resources: { requests } }] } });
const mapped = {
  extendedResourceClaimStatus: {
    resourceClaimName: 'gone',
    requestMappings: [{ containerName: 'c', resourceName: gpu, requestName: 'container-0-request-0' }],
  },
};

describe('a pod bound to a node whose device plugin has its extended resource', () => {
  const cases: [what: string, hasClass: boolean, status: typeof mapped | undefined, writes: number][] = [
    ['has what an earlier attempt told taken away', true, mapped, 1],
    ['has it taken away, too, when the device class is gone', false, mapped, 1],
    ['is left alone when nothing was told', true, undefined, 0],
  ];
  for (const [what, hasClass, status, writes] of cases)
    test(what, async (t) => {
      const run = await startScheduler(t, (api) => {
        const node = testNode('n');
        const allocatable = { ...node.status?.allocatable, [gpu]: '1' };
        api.seed(Nodes, { ...node, status: { ...node.status, allocatable } });
        if (hasClass) api.seed(DeviceClasses, { metadata: { name: 'gpu' }, spec: { extendedResourceName: gpu } });
        api.seed(Pods, { ...pod, ...(status !== undefined && { status }) });
      });
      await run.clock.advance(1000);
      assert.equal(run.pod('p')?.spec?.nodeName, 'n', run.events().join('\n'));
      assert.equal(run.pod('p')?.status?.extendedResourceClaimStatus, undefined);
      const told = run.api.requests.filter(({ body }) => JSON.stringify(body ?? '').includes('extendedResourceClaim'));
      assert.equal(told.length, writes);
    });
});
