/** Pods of an account that is limited to its own secrets, by every way a pod names one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodSpec } from '../../../api/gen/core-v1.ts';
import { Pods, ServiceAccounts } from '../../../api/gen/resources.ts';
import { createSeededRandom } from '../../../platform/sim/random.ts';
import { createTestObjects } from '../../authz/objects-fixture.ts';
import { admit } from '../admission-fixture.ts';
import { createServiceAccount } from './service-account.ts';

const env = (name: string) => [{ name: 'E', valueFrom: { secretKeyRef: { name, key: 'k' } } }];
const ways: readonly (readonly [what: string, spec: (secret: string) => Partial<PodSpec>])[] = [
  ['volume', (secretName) => ({ volumes: [{ name: 'v', secret: { secretName } }] })],
  ['volume', (name) => ({ volumes: [{ name: 'v', projected: { sources: [{ secret: { name } }] } }] })],
  ['container c', (name) => ({ containers: [{ name: 'c', env: env(name) }] })],
  ['container c', (name) => ({ containers: [{ name: 'c', envFrom: [{ secretRef: { name } }] }] })],
  ['init container i', (name) => ({ initContainers: [{ name: 'i', env: env(name) }] })],
  ['init container i', (name) => ({ initContainers: [{ name: 'i', envFrom: [{ secretRef: { name } }] }] })],
  ['imagePullSecrets[0].name', (name) => ({ imagePullSecrets: [{ name }] })],
];

async function refusal(
  spec: Partial<PodSpec>,
  enforced: string | undefined,
  operation: 'CREATE' | 'UPDATE' = 'CREATE',
) {
  const objects = createTestObjects();
  const annotations: Record<string, string> =
    enforced === undefined ? {} : { 'kubernetes.io/enforce-mountable-secrets': enforced };
  objects.put(ServiceAccounts, {
    metadata: { name: 'bot', namespace: 'ns', annotations },
    secrets: [{ name: 'own' }],
    imagePullSecrets: [{ name: 'own' }],
  });
  const plugin = createServiceAccount(() => objects.store, createSeededRandom(1));
  const object: Pod = {
    metadata: { name: 'p', namespace: 'ns' },
    spec: { serviceAccountName: 'bot', containers: [{ name: 'c' }], ...spec },
  };
  const subresource = operation === 'UPDATE' ? 'ephemeralcontainers' : '';
  const request = { operation, subresource, object, ...(operation === 'UPDATE' && { oldObject: object }) };
  return admit(plugin, Pods, request).then(
    () => undefined,
    (error: Error) => error.message,
  );
}

for (const [what, spec] of ways)
  test(`a limited account and ${what} with ${JSON.stringify(spec('s'))}`, async () => {
    const found = (await refusal(spec('foreign'), 'true')) ?? '';
    assert.ok(found.includes(`forbidden: ${what}`) && found.includes('"foreign"'), found);
    assert.match(found, /is not allowed because service account bot does not reference that/);
    assert.equal(await refusal(spec('own'), 'true'), undefined);
    for (const off of ['false', 'x', undefined]) assert.equal(await refusal(spec('foreign'), off), undefined);
  });

test('an ephemeral container of a limited account names its secrets alone', async () => {
  const spec = (name: string) => ({ ephemeralContainers: [{ name: 'e', envFrom: [{ secretRef: { name } }] }] });
  assert.match((await refusal(spec('foreign'), '1', 'UPDATE')) ?? '', /ephemeral container e with envFrom/);
  assert.equal(await refusal(spec('own'), '1', 'UPDATE'), undefined);
});
