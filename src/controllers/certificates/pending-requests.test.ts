import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CertificateSigningRequest } from '../../api/gen/certificates-v1.ts';
import { stored } from '../../api/stored-fixture.ts';
import { createRequest } from '../../component-helpers/pki/certificates.ts';
import { createSimCrypto } from '../../platform/sim/crypto.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { readPending } from './pending-requests.ts';
import { reservedNames } from './reserved-names.ts';
import { KUBELET_CLIENT, KUBELET_SERVING } from './signer-rules.ts';

const clock = new VirtualClock();
const crypto = createSimCrypto(clock);
const names = { commonName: 'system:node:a', organizations: ['system:nodes'] };
const { requestPem } = await clock.drive(createRequest({ crypto }, names));
const ask = (uid: string, conditions: { type: string; status: string }[] = []): CertificateSigningRequest => ({
  metadata: { name: 'r', uid },
  spec: {
    request: Buffer.from(requestPem).toString('base64'),
    signerName: KUBELET_CLIENT,
    usages: ['digital signature', 'client auth'],
  },
  status: { conditions },
});

/** Whether a request is read that is the second one after it was parsed. */
async function isRead(
  [before, after]: readonly [CertificateSigningRequest?, CertificateSigningRequest?],
  signerName = KUBELET_CLIENT,
): Promise<boolean> {
  let reads = 0;
  const get = () => {
    const csr = reads++ === 0 ? before : after;
    return csr && stored(csr);
  };
  const reader = { requests: { get }, signerName, reserved: reservedNames({}), crypto };
  return (await clock.drive(readPending(reader, 'r'))) !== undefined;
}

test('a request is pending while it is the one that was parsed, and undecided', async () => {
  const one = ask('1');
  assert.equal(await isRead([one, one]), true);
  assert.equal(await isRead([one, one], KUBELET_SERVING), false);
  assert.equal(await isRead([undefined, one]), false);
  assert.equal(await isRead([one, undefined]), false);
  assert.equal(await isRead([one, ask('2')]), false);
  assert.equal(await isRead([one, ask('1', [{ type: 'Denied', status: 'True' }])]), false);
});
