import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryLog } from '../../platform/sim/log.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import type { WebhookClient } from '../webhook/webhook-client.ts';
import { readAuthorizationConfig } from './authorization-config.ts';
import { createWebhookAuthorizer } from './webhook-authorizer.ts';
import { compileWebhookConditions } from './webhook-conditions.ts';

const webhook = {
  timeout: '3s',
  subjectAccessReviewVersion: 'v1',
  failurePolicy: 'Deny',
  connectionInfo: { type: 'KubeConfigFile', kubeConfigFile: '/k' },
};

function configuration(...authorizers: object[]): object {
  return { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'AuthorizationConfiguration', authorizers };
}

test('an authorization configuration', () => {
  const condition = { expression: 'has(request.resourceAttributes)' };
  const conditions = { matchConditions: [condition], matchConditionSubjectAccessReviewVersion: 'v1' };
  const more = { ...webhook, ...conditions, authorizedTTL: '1m', cacheUnauthorizedRequests: false };
  assert.deepEqual(
    readAuthorizationConfig(
      configuration(
        { type: 'Webhook', name: 'first', webhook },
        { type: 'Node', name: 'node' },
        { type: 'RBAC', name: 'rbac' },
        { type: 'Webhook', name: 'last', webhook: { ...more, failurePolicy: 'NoOpinion' } },
      ),
    ),
    [
      {
        type: 'Webhook',
        name: 'first',
        kubeConfigFile: '/k',
        allowedMs: 300_000,
        deniedMs: 30_000,
        timeoutMs: 3000,
        version: 'v1',
        onFailure: 'deny',
        conditions: [],
      },
      { type: 'Node', name: 'node' },
      { type: 'RBAC', name: 'rbac' },
      {
        type: 'Webhook',
        name: 'last',
        kubeConfigFile: '/k',
        allowedMs: 60_000,
        deniedMs: 0,
        timeoutMs: 3000,
        version: 'v1',
        onFailure: 'noOpinion',
        conditions: ['has(request.resourceAttributes)'],
      },
    ],
  );
});

const unknownField = (field: string): RegExp =>
  new RegExp(`^strict decoding error: unknown field "${field.replaceAll(/[[\]]/g, String.raw`\$&`)}"$`);

test('errors of an authorization configuration', async (t) => {
  const hook = (parts: object) => configuration({ type: 'Webhook', name: 'w', webhook: { ...webhook, ...parts } });
  const cases: readonly (readonly [object, RegExp])[] = [
    [{ kind: 'Other' }, /is not apiserver.config.k8s.io\/v1 AuthorizationConfiguration/],
    [configuration(), /^authorizers: Required value: at least one authorization mode must be defined$/],
    [configuration({ type: 'Magic', name: 'm' }), /^authorizers\[0\].type: Unsupported value: "Magic"/],
    [configuration({ type: 'RBAC' }), /^authorizers\[0\].name: Required value$/],
    [configuration({ type: 'RBAC', name: 'A b' }), /^authorizers\[0\].name: Invalid value: "A b"/],
    [
      configuration({ type: 'RBAC', name: 'a' }, { type: 'Node', name: 'a' }),
      /^authorizers\[1\].name: Duplicate value: "a"$/,
    ],
    [
      configuration({ type: 'RBAC', name: 'a' }, { type: 'RBAC', name: 'b' }),
      /^authorizers\[1\].type: Duplicate value/,
    ],
    [configuration({ type: 'RBAC', name: 'a', webhook }), /webhook may only be specified when type=Webhook/],
    [configuration({ type: 'Webhook', name: 'a' }), /^authorizers\[0\].webhook: Required value$/],
    [hook({ timeout: undefined }), /webhook.timeout: Required value$/],
    [hook({ timeout: '31s' }), /webhook.timeout: Invalid value: "31s": must be > 0s and <= 30s$/],
    [
      hook({ failurePolicy: 'Ignore' }),
      /failurePolicy: Unsupported value: "Ignore": supported values: "Deny", "NoOpinion"$/,
    ],
    [hook({ subjectAccessReviewVersion: undefined }), /subjectAccessReviewVersion: Required value$/],
    [
      hook({ connectionInfo: { type: 'InClusterConfig' } }),
      /connectionInfo.type: Unsupported value: "InClusterConfig"/,
    ],
    [hook({ connectionInfo: { type: 'KubeConfigFile' } }), /connectionInfo.kubeConfigFile: Required value$/],
    [hook({ matchConditions: [{ expression: 'true' }] }), /matchConditionSubjectAccessReviewVersion: Required value$/],
    [hook({ matchConditions: [{}] }), /matchConditions\[0\].expression: Required value$/],
    [{ ...configuration({ type: 'RBAC', name: 'a' }), authorizer: [] }, unknownField('authorizer')],
    [configuration({ type: 'RBAC', name: 'a', webhooks: {} }), unknownField('authorizers[0].webhooks')],
    [hook({ cacheAuthorizedRequest: false }), unknownField('authorizers[0].webhook.cacheAuthorizedRequest')],
    [
      hook({ connectionInfo: { ...webhook.connectionInfo, kubeconfig: '/x' } }),
      unknownField('authorizers[0].webhook.connectionInfo.kubeconfig'),
    ],
    [
      hook({ matchConditions: [{ expression: 'true', expresion: 'x' }] }),
      unknownField('authorizers[0].webhook.matchConditions[0].expresion'),
    ],
    [hook({ authorizedTTL: 'soon' }), /authorizedTTL: Invalid value: "soon"/],
  ];
  for (const [value, expected] of cases)
    await t.test(String(expected), () => assert.throws(() => readAuthorizationConfig(value), { message: expected }));
});

test('match conditions decide which requests a webhook receives', async () => {
  const asked: string[] = [];
  let fails = false;
  const client = {
    post: (_target: unknown, { body }: { body: { spec: { user: string } } }) => {
      if (fails) return Promise.reject(new Error('down'));
      asked.push(body.spec.user);
      return Promise.resolve({ status: { allowed: true } });
    },
  } as unknown as WebhookClient;
  const concerns = compileWebhookConditions([
    'has(request.resourceAttributes)',
    'request.resourceAttributes.namespace == "kube-system"',
    '!("system:masters" in request.groups)',
  ]);
  const target = { url: '', tls: {}, destination: () => ({ url: '', headers: {} }) };
  const deps = { client, target, clock: new VirtualClock(), log: createMemoryLog() };
  const rest = { verb: 'get', apiGroup: '', apiVersion: 'v1', resource: 'pods', subresource: '', name: '', path: '/p' };
  const ask = (name: string, parts: object = {}, onFailure: 'deny' | 'noOpinion' = 'deny') =>
    createWebhookAuthorizer(deps, { allowedMs: 0, deniedMs: 0, onFailure, concerns }).authorize({
      user: { name, groups: [] },
      isResourceRequest: true,
      namespace: 'kube-system',
      ...rest,
      ...parts,
    });
  assert.equal((await ask('asked')).decision, 'allow');
  assert.equal((await ask('elsewhere', { namespace: 'default' })).decision, 'noOpinion');
  assert.equal((await ask('path', { isResourceRequest: false })).decision, 'noOpinion');
  assert.equal((await ask('master', { user: { name: 'master', groups: ['system:masters'] } })).decision, 'noOpinion');
  assert.deepEqual(asked, ['asked']);
  fails = true;
  assert.equal((await ask('a')).decision, 'deny');
  assert.equal((await ask('b', {}, 'noOpinion')).decision, 'noOpinion');
  assert.equal((await ask('c', { namespace: 'default' })).decision, 'noOpinion');
  assert.throws(
    () => compileWebhookConditions(['request.nothing']),
    /^Error: matchConditions\[0\]: compilation failed/,
  );
  const broken = compileWebhookConditions(['request.groups[3] == "a"']);
  assert.throws(() => broken({ user: 'u' }), /resulted in error/);
});
