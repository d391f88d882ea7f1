/** Groups that no client certificate may claim, and requests with the signature of another key. */
import assert from 'node:assert/strict';
import { webcrypto } from 'node:crypto';
import { test } from 'node:test';
import { CertificateSigningRequests } from '../../../api/gen/resources.ts';
import type { KubernetesObject } from '../../../api/object.ts';
import { createRequest } from '../../../component-helpers/pki/certificates.ts';
import { createSimCrypto } from '../../../platform/sim/crypto.ts';
import { VirtualClock } from '../../../platform/sim/virtual-clock.ts';
import { SERVER_GROUP } from '../../bootstrap/server-join.ts';
import { admit } from '../admission-fixture.ts';
import { createCertificateSubjectRestriction } from './certificate-subject-restriction.ts';

const crypto = { ...createSimCrypto(new VirtualClock()), webcrypto: webcrypto as typeof globalThis.crypto };

async function ask(requestPem: string): Promise<string> {
  const spec = {
    signerName: 'kubernetes.io/kube-apiserver-client',
    request: Buffer.from(requestPem).toString('base64'),
  };
  const object = { metadata: { name: 'r' }, spec: { ...spec, usages: [] } } as KubernetesObject;
  const user = { name: 'mallory', groups: [] };
  return admit(createCertificateSubjectRestriction(crypto), CertificateSigningRequests, { user, object }).then(
    () => '',
    (error: Error) => error.message.replace(/.*is forbidden: /, ''),
  );
}

for (const [group, refused] of [
  ['system:masters', true],
  [SERVER_GROUP, true],
  ['developers', false],
] as const)
  test(`a request for the group ${group} is ${refused ? 'refused' : 'taken'}`, async () => {
    const { requestPem } = await createRequest(
      { crypto },
      { commonName: 'system:bootstrap:abcdef', organizations: ['x', group] },
    );
    const why = `use of kubernetes.io/kube-apiserver-client signer with ${group} group is not allowed`;
    assert.equal(await ask(requestPem), refused ? why : '');
  });

test('a request whose signature is not that of its key is refused', async () => {
  const { requestPem } = await createRequest({ crypto }, { commonName: 'bob' });
  const der = Buffer.from(requestPem.replace(/-----[A-Z ]+-----/g, ''), 'base64');
  const at = der.indexOf('bob');
  der.write('eve', at);
  const forged = `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`;
  assert.match(await ask(forged), /failed to parse CSR: the certificate request has an invalid signature/);
});
