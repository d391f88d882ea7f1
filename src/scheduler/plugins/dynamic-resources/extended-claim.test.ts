/** The status of a bound pod with a claim for its extended resources. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DeviceClasses, Nodes, Pods, ResourceClaims } from '../../../api/gen/resources.ts';
import type { ResourceClaim } from '../../../api/gen/resource-v1.ts';
import type { Client } from '../../../client/client.ts';
import { startScheduler } from '../../running-scheduler-fixture.ts';
import { testNode, testPod } from '../../scheduler-fixture.ts';
import { wantedClaim } from './claim-requests.ts';
import { writeExtendedClaim } from './extended-claim.ts';

const GPU = 'example.com/gpu';
const requests = { cpu: '1', [GPU]: '1' };
const pod = testPod('p', { spec: { containers: [{ name: 'c', image: 'i', resources: { requests } }] } });
const mapped = {
  extendedResourceClaimStatus: {
    resourceClaimName: 'gone',
    requestMappings: [{ containerName: 'c', resourceName: GPU, requestName: 'container-0-request-0' }],
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
        const allocatable = { ...node.status?.allocatable, [GPU]: '1' };
        api.seed(Nodes, { ...node, status: { ...node.status, allocatable } });
        if (hasClass) api.seed(DeviceClasses, { metadata: { name: 'gpu' }, spec: { extendedResourceName: GPU } });
        api.seed(Pods, { ...pod, ...(status !== undefined && { status }) });
      });
      await run.clock.advance(1000);
      assert.equal(run.pod('p')?.spec?.nodeName, 'n', run.events().join('\n'));
      assert.equal(run.pod('p')?.status?.extendedResourceClaimStatus, undefined);
      const told = run.api.requests.filter(({ body }) => JSON.stringify(body ?? '').includes('extendedResourceClaim'));
      assert.equal(told.length, writes);
    });
});

test('the claim of a failed attempt is deleted when no device class has the resource any more', async (t) => {
  const run = await startScheduler(t, (api) => {
    const node = testNode('n');
    const allocatable = { ...node.status?.allocatable, [GPU]: '1' };
    api.seed(Nodes, { ...node, status: { ...node.status, allocatable } });
    api.seed(ResourceClaims, {
      metadata: {
        name: 'left',
        namespace: 'default',
        annotations: { 'resource.kubernetes.io/extended-resource-claim': 'true' },
        ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'uid-p', controller: true }],
      },
      spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'gone' } }] } },
    });
    api.seed(Pods, pod);
  });
  await run.clock.advance(5000);
  assert.deepEqual(run.api.objects(ResourceClaims), []);
  assert.equal(run.pod('p')?.spec?.nodeName, 'n', run.events().join('\n'));
});

describe('the claim for extended resources', () => {
  const cases: [what: string, uid: string, answers: boolean, counted: string[]][] = [
    ['is counted when it is made', 'extended-resources-of-uid-p', true, ['success']],
    ['is counted when it cannot be made', 'extended-resources-of-uid-p', false, ['failure']],
    ['is not made again when an earlier attempt has left it', 'left', true, []],
  ];
  for (const [what, uid, answers, counted] of cases)
    test(what, async () => {
      const told: string[] = [];
      const client = {
        resource: () => ({
          create: async (claim: object) => (answers ? claim : Promise.reject(new Error('refused'))),
        }),
      } as unknown as Client;
      const deviceMetrics = { claimCreated: (status: string) => void told.push(status), waitedFor: () => undefined };
      const claim: ResourceClaim = { metadata: { name: 'c', namespace: 'default', uid }, spec: {} };
      const want = { wanted: wantedClaim(claim, () => undefined), mappings: [] };
      const { signal } = new AbortController();
      const writing = writeExtendedClaim({ client, deviceMetrics }, { pod, want }, signal);
      if (answers) await writing;
      else await assert.rejects(writing, /refused/);
      assert.deepEqual(told, counted);
    });
});
