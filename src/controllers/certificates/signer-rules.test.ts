/** Requests that the built-in signers refuse although they are approved. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ParsedRequest } from '../../component-helpers/pki/certificates.ts';
import { reservedNames } from './reserved-names.ts';
import { BUILT_IN_SIGNERS, KUBELET_CLIENT, KUBELET_SERVING, signerProblem } from './signer-rules.ts';

const reserved = reservedNames({
  clusterDomain: 'corp.example',
  serviceCidrs: ['10.49.0.0/16', 'fd00:49::/112'],
  apiServerNames: { dnsNames: ['api.example.com'], ipAddresses: ['192.0.2.7', '2001:db8::7'] },
});

const none: ParsedRequest = {
  commonName: '',
  organizations: [],
  dnsNames: [],
  ipAddresses: [],
  emailAddresses: [],
  uris: [],
};

function problemOf(signerName: string, request: Partial<ParsedRequest>): string | undefined {
  const usages = ['digital signature', signerName === KUBELET_SERVING ? 'server auth' : 'client auth'];
  return signerProblem({ metadata: {}, spec: { signerName, usages, request: '' } }, { ...none, ...request }, reserved);
}

const nodeCalled = (name: string): Partial<ParsedRequest> => ({
  commonName: `system:node:${name}`,
  organizations: ['system:nodes'],
});

const badNodeNames = [
  '',
  'A',
  'a_b',
  '-a',
  'a b',
  'a/b',
  'ü',
  'x\r\n\r\nDELETE / HTTP/1.1',
  'a'.repeat(254),
  'localhost',
  'a.localhost',
  'svc',
  'hook.ns.svc',
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.corp.example',
  'corp.example',
  'a.corp.example',
  'api.example.com',
];

for (const signer of [KUBELET_CLIENT, KUBELET_SERVING])
  test(`${signer} signs for node names only, and for no name of the cluster itself`, () => {
    for (const name of ['node-1', 'n', 'ip-10-0-0-1.ec2.internal', 'kubernetes-worker-1', 'svc-1', '10.49.0.1']) {
      const names = signer === KUBELET_SERVING ? { dnsNames: [name], ipAddresses: ['10.0.0.2', '2001:db8::2'] } : {};
      assert.equal(problemOf(signer, { ...nodeCalled(name), ...names }), undefined, name);
    }
    for (const name of badNodeNames) {
      const names = signer === KUBELET_SERVING ? { ipAddresses: ['10.0.0.2'] } : {};
      assert.match(
        problemOf(signer, { ...nodeCalled(name), ...names }) ?? 'signed',
        /node name|control characters/,
        JSON.stringify(name),
      );
    }
  });

test('no kubelet serves under a name or address of the cluster itself', () => {
  const dnsNames = [
    'LOCALHOST',
    'Kubernetes.Default.SVC',
    'hook.ns.svc.',
    '*.ns.svc',
    'a.corp.example.',
    'api.example.com',
  ];
  for (const name of dnsNames)
    assert.match(problemOf(KUBELET_SERVING, { ...nodeCalled('n'), dnsNames: ['n', name] }) ?? '', /belongs to/, name);
  const ipAddresses = [
    ...['127.0.0.1', '127.9.9.9', '0.0.0.0', '169.254.169.254', '224.0.0.1', '10.49.0.1', '10.49.255.254', '192.0.2.7'],
    ...['::1', '::', 'fe80::1', 'ff02::1', 'fd00:49::1', '2001:db8::7', '::ffff:127.0.0.1', '::ffff:10.49.0.1'],
    ...['2001:0db8:0::7', 'no address', '255.255.255.255', '240.0.0.1', '239.255.255.255', '0.1.2.3'],
    ...['::2', '::7f00:1', '100::1', 'febf::1', 'fec0::1', 'feff::1', '::ffff:255.255.255.255', '::ffff:0.0.0.0'],
  ];
  for (const ip of ipAddresses)
    assert.match(
      problemOf(KUBELET_SERVING, { ...nodeCalled('n'), ipAddresses: ['10.0.0.2', ip] }) ?? '',
      /belongs to/,
      ip,
    );
});

test('no signer signs names with control characters, at any position', () => {
  for (const signer of BUILT_IN_SIGNERS)
    for (const character of ['\r\n', '\n', '\r', '\0', '\u007f', '\u001b'])
      for (const field of ['commonName', 'organizations', 'dnsNames', 'emailAddresses', 'uris'] as const) {
        const text = `a${character}b`;
        const request = { commonName: 'ann', [field]: field === 'commonName' ? text : [text] };
        assert.match(problemOf(signer, request) ?? '', /control characters/, `${signer} ${field}`);
      }
});
