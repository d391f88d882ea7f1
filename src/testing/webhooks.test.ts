import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMaps, MutatingWebhookConfigurations } from '../api/gen/resources.ts';
import type { AdmissionReview } from '../api/gen/admission-v1.ts';
import { Cluster } from './cluster.ts';

test('a function of the test is an admission webhook', async () => {
  await using cluster = await Cluster.start({ nodes: 0, controllers: [], scheduler: false });
  const url = cluster.webhook('/label', (review: AdmissionReview) => {
    const patch = Buffer.from(JSON.stringify([{ op: 'add', path: '/metadata/labels', value: { seen: 'yes' } }]));
    return {
      ...review,
      response: { uid: review.request!.uid, allowed: true, patchType: 'JSONPatch', patch: patch.toString('base64') },
    };
  });
  await cluster.client.resource(MutatingWebhookConfigurations).create({
    metadata: { name: 'label' },
    webhooks: [
      {
        name: 'label.example.com',
        clientConfig: { url },
        rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      },
    ],
  });
  const made = await cluster.client.resource(ConfigMaps).create({ metadata: { name: 'a', namespace: 'default' } });
  assert.deepEqual(made.metadata.labels, { seen: 'yes' });
});
