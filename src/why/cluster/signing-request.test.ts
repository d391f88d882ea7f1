import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CertificateSigningRequests } from '../../api/gen/resources.ts';
import type { CertificateSigningRequest } from '../../api/gen/certificates-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import type { Client } from '../../client/client.ts';
import { explainObject } from '../explain.ts';

type Status = NonNullable<CertificateSigningRequest['status']>;

function explain(signerName: string, status: Status) {
  const object = {
    kind: 'CertificateSigningRequest',
    metadata: { name: 'x' },
    spec: { signerName, request: '' },
    status,
  };
  const info = CertificateSigningRequests as ResourceInfo<KubernetesObject>;
  return explainObject(info, object as KubernetesObject, { client: {} as Client, nowMs: 0 });
}

const is = (type: string, reason: string) => ({ type, status: 'True', reason, message: `because of ${reason}` });

test('a signing request names its signer, who approves for it, and who ended it', async () => {
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
  assert.equal((await explain(kubelet, { certificate: 'LS0t' })).state, 'Fine');
});
