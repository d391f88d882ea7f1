import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { createWebhookAuthorizer } from '../authz/webhook-authorizer.ts';
import { createTokenFileAuthenticator } from './token-file.ts';
import { createWebhookTokenAuthenticator } from './webhook-token.ts';
import { world } from './outside-world-fixture.ts';

const crypto = { sha256Hex: (data: string | Uint8Array) => createHash('sha256').update(data).digest('hex') } as never;

test('token file: users, uids and groups; lines that are none are refused', async () => {
  const tokens = createTokenFileAuthenticator('abc,ann,1,"devs,ops"\n# nobody\n\nxyz,bob,2\n');
  assert.deepEqual(await tokens.authenticateToken('abc'), {
    name: 'ann',
    uid: '1',
    groups: ['devs', 'ops', 'system:authenticated'],
  });
  assert.deepEqual((await tokens.authenticateToken('xyz'))?.groups, ['system:authenticated']);
  assert.equal(await tokens.authenticateToken('nope'), undefined);
  assert.throws(() => createTokenFileAuthenticator('abc,ann\n'), /at least 3 columns/);
  assert.throws(() => createTokenFileAuthenticator(',ann,1\n'), /empty token found in token file, record number: 1/);
});

test('token webhook: answers are cached for their TTL; a refusal with a reason and a missing answer are 401', async () => {
  const { clock, client, target, answers, asked } = await world();
  const tokens = createWebhookTokenAuthenticator(
    { client, target, clock, crypto, audiences: ['api'] },
    { cacheMs: 1000, version: 'v1' },
  );
  await assert.rejects(tokens.authenticateToken('a'), /the server could not find the requested resource/);
  answers.set('/review', (body) => {
    const { spec } = JSON.parse(body) as { spec: { token: string } };
    if (spec.token === 'bad') return { status: { authenticated: false, error: 'revoked' } };
    return {
      status: {
        authenticated: spec.token === 'good',
        user: { username: 'ann', uid: '7', groups: ['g'], extra: { k: ['v'] } },
      },
    };
  });
  const ann = { name: 'ann', uid: '7', groups: ['g', 'system:authenticated'], extra: { k: ['v'] } };
  asked.length = 0;
  assert.deepEqual(await tokens.authenticateToken('good'), ann);
  assert.deepEqual(await tokens.authenticateToken('good'), ann);
  assert.equal(asked.length, 1);
  await clock.advance(1001);
  await tokens.authenticateToken('good');
  assert.equal(asked.length, 2);
  assert.equal(await tokens.authenticateToken('other'), undefined);
  await assert.rejects(tokens.authenticateToken('bad'), { message: 'revoked' });
});

test('a token that a webhook knows for other audiences is refused', async () => {
  const { clock, client, target, answers } = await world();
  const asked: unknown[] = [];
  answers.set('/review', (body) => {
    const { spec } = JSON.parse(body) as { spec: { token: string; audiences: string[] } };
    asked.push(spec.audiences);
    const audiences = spec.token === 'none' ? {} : { audiences: spec.token.split(',') };
    return { status: { authenticated: true, user: { username: 'ann' }, ...audiences } };
  });
  const deps = { client, target, clock, crypto, audiences: ['api', 'https://issuer'] };
  const tokens = createWebhookTokenAuthenticator(deps, { cacheMs: 0, version: 'v1' });
  const nameOf = async (token: string): Promise<string | undefined> => (await tokens.authenticateToken(token))?.name;
  assert.equal(await nameOf('none'), 'ann');
  assert.equal(await nameOf('vault,api'), 'ann');
  assert.equal(await nameOf('vault'), undefined);
  assert.deepEqual(asked[0], ['api', 'https://issuer']);
});

test('webhooks are called with the configured version', async () => {
  const { clock, client, target, answers, log } = await world();
  const asked: { apiVersion: string; spec: Record<string, unknown> }[] = [];
  answers.set('/review', (body) => {
    asked.push(JSON.parse(body) as never);
    return { status: { authenticated: true, allowed: true, user: { username: 'ann' } } };
  });
  for (const version of ['v1beta1', 'v1'] as const) {
    const tokens = createWebhookTokenAuthenticator(
      { client, target, clock, crypto, audiences: ['api'] },
      { cacheMs: 0, version },
    );
    await tokens.authenticateToken('t');
    const rights = createWebhookAuthorizer({ client, target, clock, log }, { allowedMs: 0, deniedMs: 0, version });
    await rights.authorize({
      user: { name: 'ann', groups: ['devs'] },
      verb: 'get',
      path: '/x',
      isResourceRequest: false,
    } as never);
  }
  assert.deepEqual(
    asked.map(({ apiVersion, spec }) => [apiVersion, spec['group'], spec['groups']]),
    [
      ['authentication.k8s.io/v1beta1', undefined, undefined],
      ['authorization.k8s.io/v1beta1', ['devs'], undefined],
      ['authentication.k8s.io/v1', undefined, undefined],
      ['authorization.k8s.io/v1', undefined, ['devs']],
    ],
  );
});

test('token webhook: users with fields of other types are a refusal', async () => {
  const { clock, client, target, answers } = await world();
  const deps = { client, target, clock, crypto, audiences: ['api'] };
  const tokens = createWebhookTokenAuthenticator(deps, { cacheMs: 1000, version: 'v1' });
  const users = [
    { username: 5 },
    { username: 'a', uid: {} },
    { username: 'a', groups: 'system:masters' },
    { username: 'a', groups: [{}] },
    { username: 'a', extra: [] },
    { username: 'a', extra: { k: 'v' } },
    { username: 'a', extra: { k: [1] } },
  ];
  for (const user of users) {
    answers.set('/review', () => ({ status: { authenticated: true, user } }));
    await assert.rejects(
      tokens.authenticateToken(JSON.stringify(user)),
      /json: cannot unmarshal .* field UserInfo\.user\./,
    );
  }
  answers.set('/review', () => ({
    status: { authenticated: true, user: { username: 'a', groups: null, extra: null } },
  }));
  assert.deepEqual(await tokens.authenticateToken('nulls'), { name: 'a', groups: ['system:authenticated'] });
});

test('webhook authorizer: caches its answers, and has no opinion when it cannot be reached', async () => {
  const { clock, client, target, answers, asked, log } = await world();
  const authorizer = createWebhookAuthorizer({ client, target, clock, log }, { allowedMs: 5000, deniedMs: 1000 });
  const question = (verb: string) => ({
    user: { name: 'ann', groups: ['g'] },
    verb,
    isResourceRequest: true,
    apiGroup: 'apps',
    apiVersion: 'v1',
    namespace: 'ns',
    resource: 'deployments',
    subresource: '',
    name: '',
    path: '/x',
  });
  const failed = await authorizer.authorize(question('get'));
  assert.equal(failed.decision, 'noOpinion');
  assert.match(failed.reason, /could not find the requested resource/);
  let seen: unknown;
  answers.set('/review', (body) => {
    const { spec } = JSON.parse(body) as { spec: { resourceAttributes: { verb: string } } };
    seen = spec;
    const { verb } = spec.resourceAttributes;
    return { status: { allowed: verb === 'get', denied: verb === 'delete', reason: verb } };
  });
  asked.length = 0;
  assert.deepEqual(await authorizer.authorize(question('get')), { decision: 'allow', reason: 'get' });
  assert.deepEqual(seen, {
    resourceAttributes: { namespace: 'ns', verb: 'get', group: 'apps', version: 'v1', resource: 'deployments' },
    user: 'ann',
    groups: ['g'],
  });
  assert.equal((await authorizer.authorize(question('delete'))).decision, 'deny');
  assert.equal((await authorizer.authorize(question('list'))).decision, 'noOpinion');
  await clock.advance(1001);
  await authorizer.authorize(question('get'));
  await authorizer.authorize(question('delete'));
  assert.equal(asked.length, 4);
});
