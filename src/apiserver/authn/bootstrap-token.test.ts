import assert from 'node:assert/strict';
import { timingSafeEqual } from 'node:crypto';
import { test } from 'node:test';
import { Secrets } from '../../api/gen/resources.ts';
import { formatTime } from '../../api/time.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { createTestObjects } from '../authz/objects-fixture.ts';
import { createBootstrapTokenAuthenticator } from './bootstrap-token.ts';

const TOKEN = 'abcdef.0123456789abcdef';
const clock = new VirtualClock();
const crypto = { timingSafeEqual: (a: Uint8Array, b: Uint8Array) => a.length === b.length && timingSafeEqual(a, b) };

async function groupsWith(
  change: Record<string, string>,
  { token = TOKEN, type = 'bootstrap.kubernetes.io/token' } = {},
) {
  const fields = {
    'token-id': 'abcdef',
    'token-secret': '0123456789abcdef',
    'usage-bootstrap-authentication': 'true',
    ...change,
  };
  const data = Object.fromEntries(Object.entries(fields).map(([k, v]) => [k, Buffer.from(v).toString('base64')]));
  const objects = createTestObjects();
  objects.put(Secrets, { metadata: { namespace: 'kube-system', name: 'bootstrap-token-abcdef' }, type, data });
  const kind = createBootstrapTokenAuthenticator({ objects: () => objects.store, clock, crypto: crypto as never });
  return (await kind.authenticateToken(token))?.groups;
}

test('authenticates a bootstrapper, with the groups in the secret', async () => {
  const groups = await groupsWith({ 'auth-extra-groups': 'system:bootstrappers:workers' });
  assert.deepEqual(groups, ['system:bootstrappers', 'system:bootstrappers:workers', 'system:authenticated']);
});

test('expires', async () => {
  assert.ok(await groupsWith({ expiration: formatTime(clock.nowMs() + 60_000) }));
  assert.equal(await groupsWith({ expiration: formatTime(clock.nowMs() - 1) }), undefined);
  assert.equal(await groupsWith({ expiration: 'tomorrow' }), undefined);
});

for (const [name, change, options] of [
  ['another secret', {}, { token: 'abcdef.0123456789abcdee' }],
  ['another id', {}, { token: 'abcdeg.0123456789abcdef' }],
  ['no token at all', {}, { token: 'eyJ.x.y' }],
  ['a Secret of another type', {}, { type: 'Opaque' }],
  ['a Secret of another id', { 'token-id': 'abcdeg' }, {}],
  ['a token for signing alone', { 'usage-bootstrap-authentication': 'false' }, {}],
  ['groups beyond bootstrappers', { 'auth-extra-groups': 'system:masters' }, {}],
] as const)
  test(`no user by ${name}`, async () => assert.equal(await groupsWith(change, options), undefined));
