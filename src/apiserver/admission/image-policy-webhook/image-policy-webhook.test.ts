import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pods } from '../../../api/gen/resources.ts';
import type { JsonObject } from '../../../api/codec/own-property.ts';
import { VirtualClock } from '../../../platform/sim/virtual-clock.ts';
import { WebhookCallError } from '../../webhook/webhook-client.ts';
import type { WebhookTarget } from '../../webhook/webhook-target.ts';
import { readAdmissionConfig } from '../admission-config.ts';
import { admit } from '../admission-fixture.ts';
import { createImagePolicyWebhook, type ImagePolicyConfig } from './image-policy-webhook.ts';

const target: WebhookTarget = {
  url: 'https://hook',
  tls: {},
  destination: () => ({ url: 'https://hook', headers: {} }),
};
const usual: ImagePolicyConfig = {
  target,
  allowTtlMs: 50_000,
  denyTtlMs: 10_000,
  retryBackoffMs: 500,
  defaultAllow: false,
};
const pod = (image: string, annotations: Record<string, string> = {}) => ({
  metadata: { name: 'p', namespace: 'ns', annotations },
  spec: {
    containers: [{ name: 'c', image }],
    initContainers: [{ name: 'i', image: 'init' }],
    ephemeralContainers: [{ name: 'e', image: 'debug' }],
  },
});

function setUp(answers: (JsonObject | Error)[], config: Partial<ImagePolicyConfig> = {}) {
  const clock = new VirtualClock();
  const asked: { spec: JsonObject }[] = [];
  const post = async (_: WebhookTarget, { body }: { body: object }): Promise<JsonObject> => {
    asked.push(body as { spec: JsonObject });
    const answer = answers.shift();
    if (answer === undefined || answer instanceof Error) throw answer ?? new Error('no more answers');
    return { status: answer };
  };
  const plugin = createImagePolicyWebhook({ client: { post }, clock }, { ...usual, ...config });
  const annotations = new Map<string, string>();
  const ask = (object: object, subresource = '') =>
    admit(plugin, Pods, { object: object as never, subresource, annotations });
  return { clock, asked, annotations, ask };
}

test('the webhook receives images, namespace and its own annotations, and its verdict is cached', async () => {
  const { clock, asked, annotations, ask } = setUp([
    { allowed: true, auditAnnotations: { seen: 'yes' } },
    { allowed: false, reason: 'old' },
    { allowed: false },
    { allowed: true },
  ]);
  const told = { 'x.image-policy.k8s.io/ticket': '1', other: 'no' };
  await ask(pod('good', told));
  assert.deepEqual(asked[0], {
    apiVersion: 'imagepolicy.k8s.io/v1alpha1',
    kind: 'ImageReview',
    metadata: {},
    spec: {
      containers: [{ image: 'good' }, { image: 'init' }],
      annotations: { 'x.image-policy.k8s.io/ticket': '1' },
      namespace: 'ns',
    },
  });
  assert.deepEqual([...annotations], [['imagepolicywebhook.image-policy.k8s.io/seen', 'yes']]);
  await ask(pod('good', told));
  assert.equal(asked.length, 1, 'kept');
  const denied = /pods "p" is forbidden: image policy webhook backend denied one or more images: old/;
  await assert.rejects(ask(pod('bad')), denied);
  await clock.advance(9_999);
  await assert.rejects(ask(pod('bad')), denied);
  assert.equal(asked.length, 2);
  await clock.advance(1);
  await assert.rejects(ask(pod('bad')), /one or more images rejected by webhook backend/);
  await ask(pod('bad'), 'ephemeralcontainers');
  assert.deepEqual(asked[3]?.spec['containers'], [{ image: 'debug' }]);
  await ask(pod('never asked'), 'status');
  assert.equal(asked.length, 4);
});

test('a failure is retried when transient; otherwise the pod is refused, or admitted with an audit annotation', async () => {
  const busy = new WebhookCallError('busy', { status: 503 });
  const { clock, asked, ask } = setUp([busy, busy, { allowed: true }]);
  const asking = ask(pod('a'));
  await clock.advance(499);
  assert.equal(asked.length, 1);
  await clock.advance(1);
  assert.equal(asked.length, 2);
  await clock.advance(750);
  await asking;
  assert.equal(asked.length, 3);
  const refused = setUp([new WebhookCallError('connection refused')]);
  await assert.rejects(refused.ask(pod('a')), /pods "p" is forbidden: connection refused/);
  const open = setUp([new WebhookCallError('connection refused')], { defaultAllow: true });
  await open.ask(pod('a'));
  assert.deepEqual([...open.annotations], [['imagepolicywebhook.image-policy.k8s.io/failed-open', 'true']]);
});

test('its configuration is required, and checked', async () => {
  assert.throws(
    () => createImagePolicyWebhook({ client: { post: async () => ({}) }, clock: new VirtualClock() }, undefined),
    /has no configuration/,
  );
  const read = async (imagePolicy: object) => {
    const plugins = [{ name: 'ImagePolicyWebhook', configuration: { imagePolicy } }];
    const value = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'AdmissionConfiguration', plugins };
    const none = (): Promise<never> => Promise.reject(new Error('no files'));
    return (await readAdmissionConfig(value, none, async () => target)).imagePolicy;
  };
  assert.deepEqual(await read({ kubeConfigFile: '/k' }), { ...usual, allowTtlMs: 300_000, denyTtlMs: 30_000 });
  const set = { kubeConfigFile: '/k', allowTTL: 50, denyTTL: -1, retryBackoff: 2, defaultAllow: true };
  assert.deepEqual(await read(set), {
    target,
    allowTtlMs: 50_000,
    denyTtlMs: 0,
    retryBackoffMs: 2,
    defaultAllow: true,
  });
  await assert.rejects(read({}), /kubeConfigFile/);
  await assert.rejects(read({ kubeConfigFile: '/k', allowTTL: 1801 }), /allowTTL: valid value is between 1 and 1800/);
});
