import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TokenAuthenticator } from '../../apiserver/authn/bearer-token.ts';
import { reviewToken, type ReviewDeps } from './review-token.ts';

const ann = { name: 'ann', groups: [] };
const tokens: ReviewDeps['tokens'] = {
  audiences: ['api'],
  review: async (token, audiences) =>
    token === 'pod' ? { principal: { name: 'pod', groups: [] }, audiences } : undefined,
  authenticateToken: async () => assert.fail('asked twice'),
};
const refusing: TokenAuthenticator = { authenticateToken: () => Promise.reject(new Error('the issuer is down')) };
const knowing: TokenAuthenticator = { authenticateToken: async (token) => (token === 'ann' ? ann : undefined) };

const outcome = async (kinds: readonly TokenAuthenticator[], token: string, asked: readonly string[]) => {
  const reviewed = await reviewToken({ tokens, kinds: [tokens, ...kinds] }, token, asked);
  return reviewed && [reviewed.user.username, ...(reviewed.audiences ?? [])];
};

test('tokens that know no audiences are for this server alone', async () => {
  assert.deepEqual(await outcome([knowing], 'ann', []), ['ann', 'api']);
  assert.deepEqual(await outcome([knowing], 'ann', ['vault', 'api']), ['ann', 'api']);
  assert.equal(await outcome([knowing], 'ann', ['vault']), undefined);
  assert.deepEqual(await outcome([knowing], 'pod', ['vault']), ['pod', 'vault']);
});

test('one kind that refuses is no word about the others', async () => {
  assert.deepEqual(await outcome([refusing, knowing], 'ann', []), ['ann', 'api']);
  await assert.rejects(outcome([refusing, knowing], 'nobody', []), /the issuer is down/);
});
