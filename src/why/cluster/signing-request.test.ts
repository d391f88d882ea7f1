import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CertificateSigningRequests } from '../../api/gen/resources.ts';
import type { CertificateSigningRequest } from '../../api/gen/certificates-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { parseTime } from '../../api/time.ts';
import type { Client } from '../../client/client.ts';
import { createAuthority } from '../../component-helpers/pki/certificates.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { explainObject } from '../explain.ts';

type Status = NonNullable<CertificateSigningRequest['status']>;

function explain(signerName: string, status: Status, nowMs = 0) {
  const object = {
    kind: 'CertificateSigningRequest',
    metadata: { name: 'x' },
    spec: { signerName, request: '' },
    status,
  };
  const info = CertificateSigningRequests as ResourceInfo<KubernetesObject>;
  return explainObject(info, object as KubernetesObject, { client: {} as Client, nowMs });
}

const is = (type: string, reason: string) => ({ type, status: 'True', reason, message: `because of ${reason}` });

test('a signing request names its signer, the approver of its signer, and the user who denied it', async () => {
  const kubelet = 'kubernetes.io/kube-apiserver-client-kubelet';
  const rows: readonly (readonly [string, Status, string, RegExp])[] = [
    [kubelet, {}, 'NotApproved', /certificatesigningrequests\/nodeclient.*kubectl certificate approve x/],
    ['kubernetes.io/kubelet-serving', {}, 'NotApproved', /no controller approves for this signer/],
    ['example.com/vpn', {}, 'NotApproved', /example\.com\/vpn says who approves/],
    ['example.com/vpn', { conditions: [is('Approved', 'ByHand')] }, 'NotSigned', /run the signer example\.com\/vpn/],
    [kubelet, { conditions: [is('Approved', 'AutoApproved')] }, 'NotSigned', /controller manager runs/],
    [kubelet, { conditions: [is('Denied', 'Unwanted')] }, 'Unwanted', /because of Unwanted.*stays denied/],
    [
      kubelet,
      { conditions: [is('Approved', 'ByHand'), is('Failed', 'SignerValidationFailure')] },
      'SignerValidationFailure',
      /the signer does not try again/,
    ],
  ];
  for (const [signer, status, code, says] of rows) {
    const { causes, state } = await explain(signer, status);
    assert.deepEqual([state, causes[0]?.code, causes[0]?.object.name], ['Trouble', code, 'x']);
    assert.match(JSON.stringify(causes), says);
  }
});

test('the explanation of a certificate has its validity, its expiry, and whether the API server accepts it', async () => {
  const nowMs = parseTime('2026-01-01T00:00:00Z');
  const deps = { ...createSimPlatform(), nowMs: () => nowMs };
  const { certPem } = await createAuthority(deps, 'ann', 600_000);
  const certificate = Buffer.from(certPem).toString('base64');
  const ofClients = 'kubernetes.io/kube-apiserver-client';
  const good = await explain(ofClients, { certificate }, nowMs);
  assert.deepEqual(
    [good.state, good.summary, good.causes],
    ['Fine', 'has its certificate, valid until 2026-01-01T00:10:00Z', []],
  );
  const expired = await explain(ofClients, { certificate }, nowMs + 700_000);
  assert.deepEqual([expired.state, expired.causes[0]?.code], ['Trouble', 'CertificateExpired']);
  assert.match(expired.causes[0]?.cure?.text ?? '', /spec\.expirationSeconds/);
  for (const [signer, says] of [
    ['kubernetes.io/kubelet-serving', /for a kubelet to serve with/],
    ['example.com/vpn', /authority of signer example\.com\/vpn is in its --client-ca-file/],
  ] as const) {
    const { state, causes } = await explain(signer, { certificate }, nowMs);
    assert.deepEqual([state, causes[0]?.code], ['Fine', 'NotForClients']);
    assert.match(causes[0]?.message ?? '', says);
  }
  assert.equal((await explain(ofClients, { certificate: 'LS0t' }, nowMs)).state, 'Unknown');
});
