import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Pods, ResourceClaims, ResourceClaimTemplates } from '../../api/gen/resources.ts';
import { CLAIM_FINALIZER } from '../../component-helpers/resource-claims.ts';
import { createResourceClaimController } from './resourceclaim-controller.ts';
import { startServerHarness } from '../server-harness-fixture.ts';

const requests = [{ name: 'gpu', exactly: { deviceClassName: 'gpus' } }];

it('a pod gets claims from its templates, and loses them when it has ended', async () => {
  const h = await startServerHarness([createResourceClaimController]);
  const claims = () => h.list(ResourceClaims);
  await h.create(Pods, {
    metadata: { namespace: 'default', name: 'web' },
    spec: {
      containers: [{ name: 'app', image: 'i', resources: { claims: [{ name: 'card' }] } }],
      resourceClaims: [{ name: 'card', resourceClaimTemplateName: 'cards' }],
    },
  });
  await h.clock.advance(1000);
  assert.equal((await claims()).length, 0, 'its template is not there');
  await h.create(ResourceClaimTemplates, {
    metadata: { namespace: 'default', name: 'cards' },
    spec: { metadata: { labels: { a: 'b' } }, spec: { devices: { requests } } },
  });
  await h.clock.advance(1000);
  const [claim] = await claims();
  assert.match(claim?.metadata.name ?? '', /^web-card-/);
  assert.deepEqual(claim?.metadata.labels, { a: 'b' });
  assert.equal(claim?.metadata.ownerReferences?.[0]?.name, 'web');
  assert.equal(claim?.spec.devices?.requests?.[0]?.exactly?.deviceClassName, 'gpus');
  const pod = await h.get(Pods, 'default/web');
  const name = claim!.metadata.name!;
  assert.deepEqual(pod.status?.resourceClaimStatuses, [{ name: 'card', resourceClaimName: name }]);

  await h.update(ResourceClaims, `default/${name}`, (draft) => void (draft.metadata.finalizers = [CLAIM_FINALIZER]));
  const consumer = { resource: 'pods', name: 'web', uid: pod.metadata.uid! };
  const reservedFor = [consumer, { ...consumer, name: 'gone', uid: 'gone' }];
  await h.update(
    ResourceClaims,
    `default/${name}`,
    (draft) => void (draft.status = { allocation: {}, reservedFor }),
    'status',
  );
  await h.clock.advance(1000);
  assert.deepEqual((await claims())[0]?.status?.reservedFor, [consumer], 'pods that are gone are taken out');
  await h.finish(pod, 'Succeeded');
  await h.clock.advance(5000);
  assert.deepEqual(await claims(), []);
  await h.stop();
});
