/** Authentication and authorization by asking the API server. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defined } from '../../base/defined-fixture.ts';
import type { Client } from '../../client/client.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { createDelegatedAuth, type DelegatedAuthConfig } from './delegated-auth.ts';

const config: DelegatedAuthConfig = {
  nodeName: 'node-1',
  anonymous: false,
  tokenWebhook: true,
  authorizationMode: 'Webhook',
};

function createFixture(change: Partial<DelegatedAuthConfig> = {}) {
  const platform = createSimPlatform();
  const reviews: unknown[] = [];
  let allowed = true;
  const client = {
    resource: () => ({
      async create(review: { spec: { token?: string } }) {
        reviews.push(review.spec);
        if (review.spec.token !== undefined)
          return {
            status:
              review.spec.token === 'good'
                ? { authenticated: true, user: { username: 'ann', groups: ['dev'] } }
                : { authenticated: false },
          };
        return { status: { allowed } };
      },
    }),
  } as unknown as Client;
  return {
    platform,
    reviews,
    auth: createDelegatedAuth({ client, platform }, { ...config, ...change }),
    deny: () => void (allowed = false),
  };
}

test('certificates, tokens, anonymous', async () => {
  const { auth, reviews } = createFixture();
  const peerCertificate = { commonName: 'kube-apiserver', organizations: ['system:masters'], fingerprint256: '' };
  assert.deepEqual(await auth.authenticate({ headers: {}, peerCertificate }), {
    name: 'kube-apiserver',
    groups: ['system:masters', 'system:authenticated'],
  });
  const nameless = { ...peerCertificate, commonName: '' };
  assert.equal(await auth.authenticate({ headers: {}, peerCertificate: nameless }), undefined);
  assert.equal(await auth.authenticate({ headers: {} }), undefined);
  for (let times = 0; times < 2; times++)
    assert.deepEqual(defined(await auth.authenticate({ headers: { authorization: 'Bearer good' } })), {
      name: 'ann',
      groups: ['dev'],
    });
  assert.equal(await auth.authenticate({ headers: { authorization: 'Bearer bad' } }), undefined);
  assert.equal(reviews.length, 2);
  const open = createFixture({ anonymous: true, tokenWebhook: false });
  assert.deepEqual(await open.auth.authenticate({ headers: {} }), {
    name: 'system:anonymous',
    groups: ['system:unauthenticated'],
  });
  assert.equal(await open.auth.authenticate({ headers: {}, refusedCertificate: true }), undefined);
  assert.equal(await open.auth.authenticate({ headers: { authorization: 'Bearer good' } }), undefined);
});

test('authorization is requested once, and again when the answer has expired', async () => {
  const { auth, reviews, platform, deny } = createFixture();
  const principal = { name: 'ann', groups: ['dev'] };
  assert.equal(await auth.authorize(principal, 'get', 'stats'), true);
  assert.equal(await auth.authorize(principal, 'get', 'stats'), true);
  assert.deepEqual(defined(reviews), [
    {
      user: 'ann',
      groups: ['dev'],
      resourceAttributes: {
        verb: 'get',
        group: '',
        version: 'v1',
        resource: 'nodes',
        subresource: 'stats',
        name: 'node-1',
      },
    },
  ]);
  deny();
  await platform.clock.advance(300_000);
  assert.equal(await auth.authorize(principal, 'get', 'stats'), false);
  await platform.clock.advance(30_000);
  assert.equal(await auth.authorize(principal, 'get', 'stats'), false);
  assert.equal(reviews.length, 3);
  assert.equal(await createFixture({ authorizationMode: 'AlwaysAllow' }).auth.authorize(principal, 'get', 'x'), true);
});
