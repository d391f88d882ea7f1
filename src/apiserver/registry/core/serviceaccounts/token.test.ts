/** The owners of token requests. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TokenRequest } from '../../../../api/gen/authentication-v1.ts';
import { ServiceAccounts } from '../../../../api/gen/resources.ts';
import { context, setUp } from '../../definitions-fixture.ts';
import { tokenSubresource } from './token.ts';

async function ask(metadata: NonNullable<TokenRequest['metadata']>): Promise<TokenRequest> {
  const { objects } = setUp();
  objects.put(ServiceAccounts, { metadata: { name: 'bot', namespace: 'ns', uid: 'u-1' } });
  const { create } = tokenSubresource(objects, async () => ({
    token: 't',
    expiresAtMs: 0,
    expirationSeconds: 3600,
    audiences: ['api'],
  }));
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', metadata, spec: { audiences: [] } };
  return (await create({ namespace: 'ns', name: 'bot', body, dryRun: false, context })) as TokenRequest;
}

test('a token request names nothing, or the account it is for', async () => {
  for (const metadata of [{}, { name: 'bot', namespace: 'ns', uid: 'u-1' }, { name: '', namespace: '', uid: '' }]) {
    const answer = await ask(metadata);
    assert.deepEqual(
      [answer.metadata?.name, answer.metadata?.namespace, answer.metadata?.uid, answer.status?.token],
      ['bot', 'ns', 'u-1', 't'],
    );
  }
});

const refused = [
  [
    { name: 'other' },
    422,
    'TokenRequest.authentication.k8s.io "bot" is invalid: metadata.name: Invalid value: "other": must match the service account name if specified',
  ],
  [
    { namespace: 'other' },
    422,
    'TokenRequest.authentication.k8s.io "bot" is invalid: metadata.namespace: Invalid value: "other": must match the service account namespace if specified',
  ],
  [
    { uid: 'u-2' },
    409,
    'Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "bot": the UID in the token request (u-2) does not match the UID of the service account (u-1)',
  ],
] as const;
for (const [metadata, code, message] of refused)
  test(`a token request for ${JSON.stringify(metadata)} is refused`, async () => {
    await assert.rejects(ask(metadata), { code, message });
  });
